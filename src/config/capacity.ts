import { cheapestNs } from '../bounds/costs.js';
import { kindPrices, rateAt } from '../bounds/kind-prices.js';
import type { GpuKind } from '../core/cluster-spec.js';
import type { ModelSpec } from '../core/model.js';

/** Largest batch that counts where the policy names none: the default of the policies that batch. */
export const DEFAULT_MAX_BATCH = 8;

interface CapacityQuestion {
  readonly models: readonly ModelSpec[];
  readonly kinds: readonly GpuKind[];
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
 * Where GPUs are of several kinds each gets the models that it is comparatively best at (`kindPrices`), and none that do not fit into
 * its memory. Weights are taken to be where they are needed. Requests for a model that is slower than the SLO even alone
 * cost nothing, because none can be served. 0 where that goes for all models.
 */
export function fluidCapacityRps({ models, kinds, sloNs, maxBatch, mix }: CapacityQuestion): number {
  const question = {
    gpus: kinds.map(({ gpus }) => gpus),
    costNs: kinds.map(({ pages }, kind) =>
      Float64Array.from(models, (model) =>
        model.pages > pages ? Number.POSITIVE_INFINITY : cheapestNs(model, kind, maxBatch, sloNs),
      ),
    ),
    mix,
  };
  const rateRps = rateAt(kindPrices(question), question);
  return rateRps === Number.POSITIVE_INFINITY ? 0 : rateRps;
}
