import type { BatchKind } from './costs.js';
import { forEachOpen } from './price-curve.js';
import { nestedNs, type Queue, queuesOf } from './queues.js';
import type { Windows } from './requests.js';

/** Steps of the search for the best price; each leaves 0.618 of the interval. */
const STEPS = 32;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** A bound and the price per ns that gives it. */
interface PricedBound {
  /** Upper bound on the requests that can be served, as a real number. */
  readonly served: number;
  readonly price: number;
}

/**
 * Bounds what GPUs can serve by a constant price on their time. At any price λ a schedule serves at most λ · `speed` ·
 * (time in which there is something to do) + (requests served − λ · cost of its batches), and the second part separates
 * by model. The best price gives the bound.
 *
 * `costNs` are window costs, for models whose requests do not expire in order of arrival.
 */
export function priced(
  windows: Windows,
  kinds: readonly (readonly BatchKind[])[],
  costNs: Float64Array,
  gpus: number,
  speed: number,
): PricedBound {
  if (windows.count === 0) return { served: 0, price: 0 };
  let openNs = 0;
  forEachOpen(windows, (fromNs, toNs) => {
    openNs += toNs - fromNs;
  });
  const profits = queuesOf(windows, kinds, gpus).map((queue) => profitOf(queue, costNs));
  const bound = (price: number) =>
    profits.reduce((sum, profit) => sum + profit(price), price * openNs * speed);
  return leastOf(bound, 1 / costNs.reduce((least, cost) => Math.min(least, cost)));
}

/** Maximum of requests served less the price of their batches, at a price per ns. */
type Profit = (price: number) => number;

function profitOf(queue: Queue, costNs: Float64Array): Profit {
  const grouped = groupProfit(queue);
  if (queue.exact) return grouped;
  const single = singleProfit(Float64Array.from(queue.requests, (i) => costNs[i]));
  return (price) => Math.min(grouped(price), single(price));
}

/** Batches are runs of neighbors in the queue, so the best set of runs is found in order. */
export function groupProfit(queue: Queue): Profit {
  const { kinds, arrivalNs } = queue;
  const count = arrivalNs.length;
  const firstsOf = new Map<number, Int32Array>();
  const firsts = (execNs: number) => {
    const known = firstsOf.get(execNs) ?? firstInTime(queue, execNs);
    firstsOf.set(execNs, known);
    return known;
  };
  const best = new Float64Array(count + 1);
  return (price) => {
    const innerNs = nestedNs(queue, price);
    const first = kinds.map(({ execNs }) => firsts(Math.min(execNs, innerNs)));
    const cost = kinds.map((kind) => price * kind.price * kind.execNs);
    for (let i = 0; i < count; i++) {
      let most = best[i];
      for (let k = 0; k < kinds.length; k++) {
        const members = Math.min(kinds[k].size, i - first[k][i] + 1);
        if (members === 0) continue;
        most = Math.max(most, best[i + 1 - members] + members - cost[k]);
      }
      best[i + 1] = most;
    }
    return best[count];
  };
}

/** For each request, the first that a batch may hold if it lasts this long and starts when the request arrives. */
function firstInTime({ arrivalNs, deadlineNs }: Queue, execNs: number): Int32Array {
  let first = 0;
  return Int32Array.from(arrivalNs, (arrival, i) => {
    while (first <= i && deadlineNs[first] < arrival + execNs) first++;
    return first;
  });
}

/** Treats each request on its own, at its minimum share of a batch. */
function singleProfit(costNs: Float64Array): Profit {
  return (price) => costNs.reduce((sum, cost) => sum + Math.max(0, 1 - price * cost), 0);
}

/** Minimum found on [0, most] by golden-section search; every value is a bound, wherever the search ends. */
function leastOf(bound: (price: number) => number, most: number): PricedBound {
  let best: PricedBound = { served: bound(0), price: 0 };
  const look = (price: number) => {
    const served = bound(price);
    if (served < best.served) best = { served, price };
    return served;
  };
  let low = 0;
  let high = most;
  let left = high - GOLDEN * (high - low);
  let right = low + GOLDEN * (high - low);
  let atLeft = look(left);
  let atRight = look(right);
  for (let step = 0; step < STEPS; step++) {
    if (atLeft <= atRight) {
      high = right;
      right = left;
      atRight = atLeft;
      left = high - GOLDEN * (high - low);
      atLeft = look(left);
    } else {
      low = left;
      left = right;
      atLeft = atRight;
      right = low + GOLDEN * (high - low);
      atRight = look(right);
    }
  }
  return best;
}
