import type { BatchKind } from './costs.js';
import { PriceCurve } from './price-curve.js';
import { type Queue, queuesOf } from './queues.js';
import type { Windows } from './requests.js';

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

/** How much a slice's price is changed at first, as a logarithm, when it is off by its whole time; at least and most. */
const FIRST_RATE = 0.1;
const LEAST_RATE = 0.005;
const MOST_RATE = 0.5;
/** What the rate is multiplied by when a slice is off in the same direction again, and when it is off in the other. */
const SAME_DIRECTION = 1.2;
const OTHER_DIRECTION = 0.5;

/**
 * Moves each slice's price towards the one at which the time that is wanted is the time that there is, at a rate of
 * its own: faster as long as the direction stays the same, slower once it passed the goal ("resilient propagation",
 * Riedmiller and Braun 1993).
 */
class PriceSearch {
  private readonly rate: Float64Array;
  /** By how much of its time each slice was off in the last step. */
  private readonly last: Float64Array;

  constructor(private readonly curve: PriceCurve) {
    this.rate = new Float64Array(curve.perNs.length).fill(FIRST_RATE);
    this.last = new Float64Array(curve.perNs.length);
  }

  /** `usedNs`: time of each slice that is wanted at the present prices. */
  step(usedNs: Float64Array): void {
    const { rate, last } = this;
    const { perNs, openNs } = this.curve;
    for (let j = 0; j < perNs.length; j++) {
      if (openNs[j] === 0) continue;
      const off = Math.min(1, usedNs[j] / openNs[j] - 1);
      if (off * last[j] > 0) rate[j] = Math.min(MOST_RATE, rate[j] * SAME_DIRECTION);
      else if (off * last[j] < 0) rate[j] = Math.max(LEAST_RATE, rate[j] * OTHER_DIRECTION);
      last[j] = off;
      perNs[j] *= Math.exp(rate[j] * off);
    }
  }
}

/** The best batches of one model at a given price curve. */
class TimedQueue {
  private readonly best: Float64Array;
  /** Members of the batch that ends with each request in the best choice up to it, 0: that one is left out. */
  private readonly members: Int32Array;
  private readonly startNs: Float64Array;
  /** Shortest execution of k requests together. */
  private readonly execNs: Float64Array;

  constructor(private readonly queue: Queue) {
    const count = queue.arrivalNs.length;
    this.best = new Float64Array(count + 1);
    this.members = new Int32Array(count);
    this.startNs = new Float64Array(count);
    this.execNs = shortestExecutions(queue.kinds);
  }

  /** Requests served less the price of their batches, at most; adds the time of those batches to `usedNs`. */
  profit(curve: PriceCurve, usedNs: Float64Array): number {
    const { best, members, startNs, execNs } = this;
    const { arrivalNs, deadlineNs } = this.queue;
    const count = arrivalNs.length;
    for (let i = 0; i < count; i++) {
      let most = best[i];
      let chosen = 0;
      for (let k = Math.min(execNs.length - 1, i + 1); k > 0; k--) {
        // Even for nothing it would be no better, and smaller ones are worth less still.
        const worth = best[i + 1 - k] + k;
        if (worth <= most) break;
        const latestNs = deadlineNs[i + 1 - k] - execNs[k];
        if (latestNs < arrivalNs[i]) continue;
        const profit = worth - curve.cheapest(arrivalNs[i], latestNs, execNs[k]);
        if (profit <= most) continue;
        most = profit;
        chosen = k;
        startNs[i] = curve.cheapestNs;
      }
      best[i + 1] = most;
      members[i] = chosen;
    }
    for (let i = count - 1; i >= 0; i -= Math.max(1, members[i])) {
      if (members[i] > 0) curve.spread(startNs[i], startNs[i] + execNs[members[i]], usedNs);
    }
    return best[count];
  }
}

function shortestExecutions(kinds: readonly BatchKind[]): Float64Array {
  const largest = Math.max(...kinds.map(({ size }) => size));
  return Float64Array.from({ length: largest + 1 }, (_, k) =>
    Math.min(...kinds.filter(({ size }) => size >= k).map(({ execNs }) => execNs)),
  );
}
