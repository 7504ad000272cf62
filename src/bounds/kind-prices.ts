import { NS_PER_S } from '../base/units.js';

/** Rounds of the search for more than two kinds. */
const MOST_ROUNDS = 20;

export interface KindPricesInput {
  /** Number of GPUs of each kind. */
  readonly gpus: readonly number[];
  /** `costNs[kind][model]`: cost of a request, ns of GPU time; Infinity: can't be served there. */
  readonly costNs: readonly ArrayLike<number>[];
  /** Share of the requests of each model; in any unit, since only proportions count. */
  readonly mix: ArrayLike<number>;
}

/**
 * Relative values of a ns on a GPU of each kind when all are busy with requests in these proportions: the prices p that
 * minimize the bound on the rate that they prove,
 *
 *   Σ_k p_k · gpus_k / Σ_m mix_m · min_k p_k · cost_km.
 *
 * This is the dual of the linear program that gives each kind the models it is comparatively best at. Exact for two
 * kinds; for more the search may end at a slightly higher rate. A price of 0: the kind has time to spare for everything
 * it can serve. Models that no kind can serve count as free.
 */
export function kindPrices(input: KindPricesInput): number[] {
  const { gpus } = input;
  let prices = gpus.map(() => 1);
  if (gpus.length === 1) return prices;
  let leastRate = rateAt(prices, input);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = leastRate;
    for (let kind = 0; kind < gpus.length; kind++) {
      for (const price of candidates(kind, prices, input)) {
        const changed = prices.with(kind, price);
        const rate = rateAt(changed, input);
        if (rate >= leastRate) continue;
        leastRate = rate;
        prices = changed;
      }
    }
    if (leastRate === before) break;
  }
  return prices;
}

/** Upper bound on requests per second proved by these prices; Infinity if nothing can be served. */
export function rateAt(prices: readonly number[], { gpus, costNs, mix }: KindPricesInput): number {
  const worth = gpus.reduce((sum, count, kind) => sum + count * prices[kind], 0);
  let requests = 0;
  let cost = 0;
  for (let model = 0; model < mix.length; model++) {
    requests += mix[model];
    const least = leastCost(prices, costNs, model);
    if (least < Number.POSITIVE_INFINITY) cost += mix[model] * least;
  }
  return cost > 0 ? (worth * requests * NS_PER_S) / cost : Number.POSITIVE_INFINITY;
}

/** Minimum cost of a request of the model over the kinds; Infinity: it can't be served. */
function leastCost(prices: readonly number[], costNs: KindPricesInput['costNs'], model: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let kind = 0; kind < prices.length; kind++) {
    const ownNs = costNs[kind][model];
    if (ownNs < Number.POSITIVE_INFINITY) least = Math.min(least, prices[kind] * ownNs);
  }
  return least;
}

/** Candidate prices of the kind: at each except 0, some model is served equally well on it and on another. */
function candidates(kind: number, prices: readonly number[], { costNs, mix }: KindPricesInput): Set<number> {
  const others = prices.with(kind, Number.POSITIVE_INFINITY);
  const found = new Set<number>([0]);
  for (let model = 0; model < mix.length; model++) {
    const price = leastCost(others, costNs, model) / costNs[kind][model];
    if (price > 0 && price < Number.POSITIVE_INFINITY) found.add(price);
  }
  return found;
}
