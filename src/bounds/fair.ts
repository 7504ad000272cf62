import { mostServed } from './most-served.js';
import type { OfferedRequests, Windows } from './requests.js';
import { type BoundedCluster, boundedProblem, whole } from './upper-bounds.js';

/** Number of prices of GPU time tried, evenly spaced on a logarithmic scale, and of refinements of the best one. */
const PRICES = 8;
const REFINEMENTS = 2;
const BISECTIONS = 50;

/**
 * Upper bound on the requests served in time if no model's attainment may be below `fairness` (0 to 1) times that of
 * all. Models of which no request could be served even alone are exempt from the rule, and their requests are excluded.
 * A whole number, at most `windowLimited` of `upperBounds`. Proof in README.md.
 */
export function fairBound(requests: OfferedRequests, cluster: BoundedCluster, fairness: number): number {
  const { windows, costNs, speed } = boundedProblem(requests, cluster);
  const models = modelsOf(windows, costNs);
  const withWeights = (weights: Float64Array | null) =>
    mostServed({ ...windows, weight: weights && requestWeights(windows, weights) }, costNs, speed).served;
  let best = withWeights(null);
  if (fairness > 0 && models.length > 1) {
    const costs = models.map((model) => model.costNs);
    let [low, high] = [1 / Math.max(...costs), 1 / Math.min(...costs)];
    for (let round = 0; round <= REFINEMENTS; round++) {
      const prices = Array.from({ length: PRICES }, (_, i) => low * (high / low) ** (i / (PRICES - 1)));
      const served = prices.map((price) => {
        const weights = modelWeights(models, windows.firstOf.length - 1, price, fairness);
        return weights === null ? Number.POSITIVE_INFINITY : withWeights(weights);
      });
      const at = served.indexOf(Math.min(...served));
      best = Math.min(best, served[at]);
      low = prices[Math.max(0, at - 1)];
      high = prices[Math.min(PRICES - 1, at + 1)];
    }
  }
  return whole(best);
}

interface FairModel {
  readonly model: number;
  readonly count: number;
  /** Mean of the minimum GPU time of its requests. */
  readonly costNs: number;
}

function modelsOf({ byModel, firstOf }: Windows, costNs: Float64Array): FairModel[] {
  const models: FairModel[] = [];
  for (let model = 0; model + 1 < firstOf.length; model++) {
    const count = firstOf[model + 1] - firstOf[model];
    if (count === 0) continue;
    let totalNs = 0;
    for (let k = firstOf[model]; k < firstOf[model + 1]; k++) totalNs += costNs[byModel[k]];
    models.push({ model, count, costNs: totalNs / count });
  }
  return models;
}

/**
 * Weights by model that prove a bound: models that cost more than they serve, at a price of GPU time, weigh as much as
 * they cost, the others a base that balances it. Null if the price leaves no base above 0.
 */
function modelWeights(
  models: readonly FairModel[],
  modelCount: number,
  price: number,
  fairness: number,
): Float64Array | null {
  const total = models.reduce((sum, { count }) => sum + count, 0);
  const excess = (base: number) =>
    models.reduce((sum, { count, costNs }) => sum + count * Math.max(0, price * costNs - base), 0);
  const isTooHigh = (base: number) => base + (fairness / total) * excess(base) > 1;
  if (isTooHigh(0)) return null;
  let [low, high] = [0, 1];
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (isTooHigh(middle)) high = middle;
    else low = middle;
  }
  if (high < 1e-6) return null;
  const weights = new Float64Array(modelCount);
  for (const { model, costNs } of models) weights[model] = Math.max(high, price * costNs);
  return weights;
}

function requestWeights({ count, byModel, firstOf }: Windows, weights: Float64Array): Float64Array {
  const weight = new Float64Array(count);
  for (let model = 0; model + 1 < firstOf.length; model++)
    for (let k = firstOf[model]; k < firstOf[model + 1]; k++) weight[byModel[k]] = weights[model];
  return weight;
}
