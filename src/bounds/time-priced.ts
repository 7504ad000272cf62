import type { BatchKind } from './costs.js';
import { PriceCurve } from './price-curve.js';
import { nestedNs, type Queue, queuesOf } from './queues.js';
import type { Windows } from './requests.js';

/** Maximum number of slices of the price curve, and number per typical SLO if that gives fewer. */
const MOST_SLICES = 8192;
const SLICES_PER_SLO = 2;
/** Maximum number of steps, and of windows, each as long as a typical SLO, that all of them together may visit. */
const MOST_STEPS = 30;
const LEAST_STEPS = 4;
const MOST_LOOKS = 500_000;
/** Initial price where nothing is scarce, as a share of the constant price. */
const LEAST_SHARE = 0.1;

/**
 * Upper bound on the requests that can be served, as a real number, by a price on GPU time that varies over time.
 * Starts from the best constant price, `price`, or from the value of GPU time in the linear program (`scarceNs` of
 * `mostServed`), whichever gives the lower bound. Then raises the price where profitable batches want more time than
 * there is, and lowers it where they want less. Every curve gives a bound; the lowest is returned.
 */
export function timePriced(
  windows: Windows,
  kinds: readonly (readonly BatchKind[])[],
  price: number,
  scarceNs: Float64Array,
  gpus: number,
  speed: number,
): number {
  if (windows.count === 0) return 0;
  const queues = queuesOf(windows, kinds, gpus).map((queue) => new TimedQueue(queue));
  const curve = new PriceCurve(windows, sliceOf(windows), speed);
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
  const steps = Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.floor(MOST_LOOKS / typicalWindows(windows))));
  const laterSteps = Math.ceil(steps / 2);
  const search = new PriceSearch(curve);
  const mean = new Float64Array(curve.perNs.length);
  for (let step = 0; step < steps; step++) {
    search.step(usedNs);
    least = Math.min(least, bound());
    if (step < steps - laterSteps) continue;
    for (let j = 0; j < mean.length; j++) mean[j] += curve.perNs[j] / laterSteps;
  }
  // Prices oscillate around the optimum; the mean of the later steps is closer.
  curve.perNs.set(mean);
  return Math.min(least, bound());
}

function sliceOf(windows: Windows): number {
  const { count, arrivalNs } = windows;
  return Math.max(
    typicalWindowNs(windows) / SLICES_PER_SLO,
    (arrivalNs[count - 1] - arrivalNs[0]) / MOST_SLICES,
  );
}

function typicalWindowNs({ count, arrivalNs, deadlineNs }: Windows): number {
  return arrivalNs.map((arrival, i) => deadlineNs[i] - arrival).sort()[count >> 1];
}

/** Total length of all windows, in typical ones. */
function typicalWindows(windows: Windows): number {
  const { arrivalNs, deadlineNs } = windows;
  const totalNs = deadlineNs.reduce((sum, deadline, i) => sum + deadline - arrivalNs[i], 0);
  return totalNs / typicalWindowNs(windows);
}

/** Initial, minimum and maximum change of a slice's logarithmic price when it is off by its whole time. */
const FIRST_RATE = 0.1;
const LEAST_RATE = 0.005;
const MOST_RATE = 0.5;
/** Factors on the rate when a slice is off in the same direction again, and in the other. */
const SAME_DIRECTION = 1.2;
const OTHER_DIRECTION = 0.5;

/**
 * Moves each slice's price towards the one at which the time wanted equals the time available, at a rate of its own:
 * faster as long as the direction stays the same, slower once it has overshot ("resilient propagation", Riedmiller and
 * Braun 1993).
 */
class PriceSearch {
  private readonly rate: Float64Array;
  /** By slice: error of the last step, as a share of its time. */
  private readonly last: Float64Array;

  constructor(private readonly curve: PriceCurve) {
    this.rate = new Float64Array(curve.perNs.length).fill(FIRST_RATE);
    this.last = new Float64Array(curve.perNs.length);
  }

  /** `usedNs`: time of each slice that is wanted at the current prices. */
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

/** Best batches of one model at a given price curve. */
export class TimedQueue {
  private readonly best: Float64Array;
  /** By request: size of the batch that ends with it in the best choice up to it; 0: it is left out. */
  private readonly members: Int32Array;
  private readonly startNs: Float64Array;
  /** By request: index of the execution of that batch. */
  private readonly chosen: Uint8Array;
  private readonly executions: readonly Executions[];
  private readonly largest: number;
  private readonly longestNs: number;

  constructor(private readonly queue: Queue) {
    const count = queue.arrivalNs.length;
    this.best = new Float64Array(count + 1);
    this.members = new Int32Array(count);
    this.startNs = new Float64Array(count);
    this.chosen = new Uint8Array(count);
    this.executions = executionsOf(queue.kinds);
    this.largest = Math.max(...queue.kinds.map(({ size }) => size));
    this.longestNs = Math.max(...queue.kinds.map(({ execNs }) => execNs));
  }

  /** Maximum of requests served less the price of their batches; adds the cost of those batches to `usedNs`. */
  profit(curve: PriceCurve, usedNs: Float64Array): number {
    const { best, members, startNs, chosen, executions } = this;
    const { arrivalNs, deadlineNs, nestable } = this.queue;
    const count = arrivalNs.length;
    for (let i = 0; i < count; i++) {
      let most = best[i];
      const leastPrice =
        nestable.length === 0 ? 0 : curve.least(arrivalNs[i], deadlineNs[i] + this.longestNs);
      const innerNs = nestedNs(this.queue, leastPrice);
      members[i] = 0;
      for (let k = Math.min(this.largest, i + 1); k > 0; k--) {
        const worth = best[i + 1 - k] + k;
        // Even at no cost it would be no better.
        if (worth <= most) continue;
        for (let each = 0; each < executions.length; each++) {
          const { price, shortestNs } = executions[each];
          const execNs = shortestNs[k];
          const inTimeNs = deadlineNs[i + 1 - k] - Math.min(execNs, innerNs);
          const latestNs = Math.min(inTimeNs, curve.endNs - execNs);
          if (latestNs < arrivalNs[i]) continue;
          const profit = worth - price * curve.cheapest(arrivalNs[i], latestNs, execNs);
          if (profit <= most) continue;
          most = profit;
          members[i] = k;
          chosen[i] = each;
          startNs[i] = curve.cheapestNs;
        }
      }
      best[i + 1] = most;
    }
    for (let i = count - 1; i >= 0; i -= Math.max(1, members[i])) {
      if (members[i] === 0) continue;
      const { price, shortestNs } = executions[chosen[i]];
      curve.spread(startNs[i], startNs[i] + shortestNs[members[i]], usedNs, price);
    }
    return best[count];
  }
}

/** Executions on GPUs whose time has the same price. */
interface Executions {
  readonly price: number;
  /** Shortest execution of k requests together; Infinity: there is none. */
  readonly shortestNs: Float64Array;
}

function executionsOf(kinds: readonly BatchKind[]): Executions[] {
  const largest = Math.max(...kinds.map(({ size }) => size));
  return [...new Set(kinds.map(({ price }) => price))].map((price) => ({
    price,
    shortestNs: Float64Array.from({ length: largest + 1 }, (_, k) =>
      Math.min(...kinds.filter((kind) => kind.price === price && kind.size >= k).map(({ execNs }) => execNs)),
    ),
  }));
}
