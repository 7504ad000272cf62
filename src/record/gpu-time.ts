import { type Action, INFER, STATUS_OK } from '../core/action.js';

/** What is counted begins at the end of the warm-up and ends at the nominal end of the workload, ns. */
interface Counted {
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** The part of the time of INFERs that each class, or each tenant, got: requests of a batch share its time evenly. */
export class GpuTime {
  private readonly gpuNs: Float64Array;

  constructor(
    length: number,
    private readonly counted: Counted,
  ) {
    this.gpuNs = new Float64Array(length);
  }

  /** A request of the class or tenant `index` was answered, by `action` if it was executed. */
  answered(index: number, action: Action | null): void {
    if (action !== null && action.kind === INFER && action.status === STATUS_OK)
      this.gpuNs[index] += this.countedNs(action) / action.count;
  }

  /** Of 1, by index. */
  shares(): number[] {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + ns, 0);
    return Array.from(this.gpuNs, (ns) => ns / Math.max(1, totalNs));
  }

  private countedNs({ beginNs, endNs }: Action): number {
    const { warmupNs, durationNs } = this.counted;
    return Math.max(0, Math.min(endNs, durationNs) - Math.max(beginNs, warmupNs));
  }
}
