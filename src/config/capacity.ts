import { NS_PER_S } from '../base/units.js';
import type { ModelSpec } from '../core/model.js';

/** Largest batch that counts where the policy names none: the default of the policies that batch. */
export const DEFAULT_MAX_BATCH = 8;

interface CapacityQuestion {
  readonly models: readonly ModelSpec[];
  readonly gpus: number;
  readonly sloNs: number;
  readonly maxBatch: number;
  /** What share of the requests each model gets; any unit, only proportions count. */
  readonly mix: ArrayLike<number>;
}

/**
 * The capacity that `load` is a share of, requests per second: the rate at which requests in the given proportions
 * keep all GPUs busy if every batch is full and of its model's cheapest size, that is
 *
 *   gpus / Σ share(m) · min e(m, b) / b   over batch sizes b ≤ maxBatch with e(m, b) ≤ SLO.
 *
 * Weights are taken to be where they are needed. Requests for a model that is slower than the SLO even alone
 * cost nothing, because none can be served. 0 where that goes for all models.
 */
export function fluidCapacityRps({ models, gpus, sloNs, maxBatch, mix }: CapacityQuestion): number {
  let requests = 0;
  let busyNs = 0;
  models.forEach((model, i) => {
    requests += mix[i];
    const costNs = cheapestNs(model, sloNs, maxBatch);
    if (costNs !== Number.POSITIVE_INFINITY) busyNs += mix[i] * costNs;
  });
  return busyNs === 0 ? 0 : (gpus * requests * NS_PER_S) / busyNs;
}

/** Least GPU time of one request in a batch that can end within the SLO; Infinity: there is none. */
function cheapestNs({ batchSizes, execNs }: ModelSpec, sloNs: number, maxBatch: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < batchSizes.length; i++) {
    if (batchSizes[i] <= maxBatch && execNs[i] <= sloNs) least = Math.min(least, execNs[i] / batchSizes[i]);
  }
  return least;
}
