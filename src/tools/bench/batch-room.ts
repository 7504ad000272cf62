import type { Subject } from './subject.js';

/** What larger batches could do, over all models by their shares. */
export interface BatchRoom {
  /** Requests of an INFER at the batch sizes used, if all are full. */
  readonly full: number;
  /**
   * Why batches are not larger: the policy's `maxBatch` or `maxExec`, or larger ones were never measured; null: larger
   * ones are not faster.
   */
  readonly limit: 'policy' | 'measured' | null;
  /** Requests per second that the last step up to the sizes used has brought, relative. 0: there was no step. */
  readonly gain: number;
}

/** `batches`: the size of each model by its index. */
export function batchRoom({ models, mix }: Subject, batches: readonly number[]): BatchRoom {
  let batchesPerRequest = 0;
  let gain = 0;
  let byPolicy = false;
  let largest = true;
  models.forEach(({ spec, signature }, m) => {
    const { batchSizes, execNs } = spec;
    const at = batches[m];
    const rateAt = (i: number) => batchSizes[i] / execNs[i];
    batchesPerRequest += mix[m] / batchSizes[at];
    if (mix[m] === 0) return;
    if (at > 0) gain += mix[m] * (rateAt(at) / rateAt(at - 1) - 1);
    if (at < batchSizes.length - 1 || !signature.batched) largest = false;
    if (batchSizes.some((_, i) => i > at && rateAt(i) > rateAt(at))) byPolicy = true;
  });
  return {
    full: 1 / batchesPerRequest,
    limit: byPolicy ? 'policy' : largest ? 'measured' : null,
    gain,
  };
}
