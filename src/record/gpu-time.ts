import { type Action, INFER, STATUS_OK } from '../core/action.js';
import { type Counted, countedNs, ratioOf } from './counted.js';

/** Shares of INFER time by class or tenant; the requests of a batch share its time evenly. */
export class GpuTime {
  private readonly gpuNs: Float64Array;

  constructor(
    length: number,
    private readonly counted: Counted,
  ) {
    this.gpuNs = new Float64Array(length);
  }

  /** Counts an answered request of class or tenant `index`; `action`: the one that executed it, if any. */
  answered(index: number, action: Action | null): void {
    if (action !== null && action.kind === INFER && action.status === STATUS_OK)
      this.gpuNs[index] += countedNs(this.counted, action) / action.count;
  }

  /** Shares of 1, by index; null if no INFER ran. */
  shares(): (number | null)[] {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + ns, 0);
    return Array.from(this.gpuNs, (ns) => ratioOf(ns, totalNs));
  }
}
