import { NS_PER_S } from '../base/units.js';
import type { ModelSpec } from '../core/model.js';

/**
 * EXEC time per request on the first kind, in the batches that its model can gather at this rate: requests must arrive,
 * wait for an INFER in progress, and be executed within the SLO. Time of a batch of one if none fits.
 */
export function requestNs({ batchSizes, execNs }: ModelSpec, rateRps: number, sloNs: number): number {
  let bestNs = execNs[0];
  for (let b = 1; b < batchSizes.length; b++) {
    const gatherNs = rateRps === 0 ? Number.POSITIVE_INFINITY : ((batchSizes[b] - 1) / rateRps) * NS_PER_S;
    if (gatherNs + 2 * execNs[b] > sloNs) break;
    bestNs = Math.min(bestNs, execNs[b] / batchSizes[b]);
  }
  return bestNs;
}

interface Arrivals {
  readonly models: readonly ModelSpec[];
  /** Requests by model, and the time within which they arrived. */
  readonly counts: ArrayLike<number>;
  readonly withinNs: number;
  sloNsOf(model: number): number;
}

/** Number of GPUs of the first kind that these arrivals keep busy, with batches as large as possible. */
export function workOf({ models, counts, withinNs, sloNsOf }: Arrivals): number {
  let busyNs = 0;
  for (let model = 0; model < counts.length; model++) {
    const count = counts[model];
    if (count === 0 || models[model].batchSizes.length === 0) continue;
    busyNs += count * requestNs(models[model], (count * NS_PER_S) / withinNs, sloNsOf(model));
  }
  return busyNs / withinNs;
}
