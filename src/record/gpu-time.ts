import { type Action, INFER, STATUS_OK } from '../core/action.js';
import { type Counted, countedNs, ratioOf } from './counted.js';

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
      this.gpuNs[index] += countedNs(this.counted, action) / action.count;
  }

  /** Of 1, by index; null: no INFER ran. */
  shares(): (number | null)[] {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + ns, 0);
    return Array.from(this.gpuNs, (ns) => ratioOf(ns, totalNs));
  }
}
