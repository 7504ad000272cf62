import type { BatchKind } from './costs.js';
import { PriceCurve } from './price-curve.js';
import { PriceSearch } from './price-search.js';
import { queuesOf } from './queues.js';
import type { Windows } from './requests.js';
import { TimedQueue } from './timed-queue.js';

/** Slices of the price curve at most, and slices of a typical SLO where that gives fewer. */
const MOST_SLICES = 8192;
const SLICES_PER_SLO = 2;
/** Steps of the search at most, and requests that all of them together may look at: some 0.5 s. */
const MOST_STEPS = 30;
const LEAST_STEPS = 4;
const MOST_LOOKS = 500_000;
/** Share of the constant price that time begins with where nothing is scarce. */
const LEAST_SHARE = 0.1;

/**
 * The most requests, as a real number, that one GPU can serve, by a price on its time that changes over time. Begins
 * with the best constant price, `price`, or with what GPU time is worth in the linear programme (`scarceNs` of
 * `mostServed`), whichever bounds better. Then raises the price where the batches that are worth theirs want more time
 * than there is, and lowers it where they want less. Every curve gives a bound; the least is returned.
 */
export function timePriced(
  windows: Windows,
  kinds: readonly (readonly BatchKind[])[],
  price: number,
  scarceNs: Float64Array,
): number {
  if (windows.count === 0) return 0;
  const queues = queuesOf(windows, kinds).map((queue) => new TimedQueue(queue));
  const curve = new PriceCurve(windows, sliceOf(windows));
  const usedNs = new Float64Array(curve.perNs.length);
  const bound = () => {
    usedNs.fill(0);
    return queues.reduce((sum, queue) => sum + queue.profit(curve, usedNs), curve.settle());
  };
  curve.perNs.fill(price);
  let least = bound();
  curve.perNs.fill(price * LEAST_SHARE);
  for (let i = 0; i < windows.count; i++)
    curve.raise(windows.arrivalNs[i], windows.deadlineNs[i], 1 / scarceNs[i]);
  if (bound() > least) {
    curve.perNs.fill(price);
    bound();
  }
  const steps = Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.floor(MOST_LOOKS / windows.count)));
  const laterSteps = Math.ceil(steps / 2);
  const search = new PriceSearch(curve);
  const mean = new Float64Array(curve.perNs.length);
  for (let step = 0; step < steps; step++) {
    search.step(usedNs);
    least = Math.min(least, bound());
    if (step < steps - laterSteps) continue;
    for (let j = 0; j < mean.length; j++) mean[j] += curve.perNs[j] / laterSteps;
  }
  // Prices swing about the best ones; the mean of the later steps is nearer.
  curve.perNs.set(mean);
  return Math.min(least, bound());
}

function sliceOf({ count, arrivalNs, deadlineNs }: Windows): number {
  const middle = arrivalNs.map((arrival, i) => deadlineNs[i] - arrival).sort()[count >> 1];
  return Math.max(middle / SLICES_PER_SLO, (arrivalNs[count - 1] - arrivalNs[0]) / MOST_SLICES);
}
