import type { ModelSpec } from '../../core/model.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

/**
 * Batch times by the profiles, which Nexus plans with: nothing is learned at run time. A batch runs in the smallest
 * compiled size that holds it.
 */
export class Latencies {
  /** By model: number of sizes used. */
  private readonly usable: Int32Array;

  constructor(
    private readonly models: readonly ModelSpec[],
    private readonly maxBatch: number,
  ) {
    this.usable = usableSizes(models, maxBatch);
  }

  /** Resets the sizes for a new model in the slot. */
  renew(model: number): void {
    this.usable[model] = usableSizesOf(this.models[model], this.maxBatch);
  }

  /** Index of the smallest size that holds `count` requests, or of the largest size. */
  sizeIndex(model: number, count: number): number {
    const { batchSizes } = this.models[model];
    const last = this.usable[model] - 1;
    let index = 0;
    while (index < last && batchSizes[index] < count) index++;
    return index;
  }

  /** Size that a batch of `count` requests runs in. */
  sizeFor(model: number, count: number): number {
    return this.models[model].batchSizes[this.sizeIndex(model, count)];
  }

  /** Time of a batch of `count` requests. */
  execNs(model: number, count: number): number {
    return this.models[model].execNs[this.sizeIndex(model, count)];
  }

  /** Largest size of which two batches fit the SLO: a request may just miss one and be in the next. At least 1. */
  saturating(model: number, sloNs: number): number {
    const { batchSizes, execNs } = this.models[model];
    let best = 1;
    for (let i = 1; i < this.usable[model]; i++) {
      if (2 * execNs[i] <= sloNs) best = batchSizes[i];
    }
    return best;
  }

  /** Largest number of requests at `ratePerNs` that can be gathered and then run within the SLO. At least 1. */
  gathering(model: number, sloNs: number, ratePerNs: number): number {
    const { batchSizes, execNs } = this.models[model];
    let best = 1;
    for (let i = 0; i < this.usable[model]; i++) {
      best = Math.max(best, Math.min(batchSizes[i], Math.floor((sloNs - execNs[i]) * ratePerNs)));
    }
    return best;
  }
}
