import { DueQueue } from '../core/due-queue.js';
import type { Windows } from './requests.js';

/** Limit on passes over the requests for one bound, and relative error below which no further pass is made. */
const MOST_PASSES = 64;
const PRECISION = 1e-3;

export interface ServedBound {
  /** Number of requests, or their weight, as a real number. */
  readonly served: number;
  /**
   * By request: lowest limit tried on costs at which it could not be finished in addition to all requests that cost no
   * more, ns; Infinity: always finished. Its inverse is the value of GPU time in its window.
   */
  readonly scarceNs: Float64Array;
}

/**
 * Maximum number of requests that can be served if each takes at least `costNs` of GPU time within its window: the
 * value of a linear program, exceeded by at most 0.1 %. If that precision would take more than 64 passes (hundreds of
 * different costs, spread evenly) it ends earlier.
 *
 * With S_k the requests that cost at most c_k, the k-th smallest cost, and f(S) the most work that can be done on S,
 * serving by ascending cost is optimal and serves Σ f(S_k) · (1/c_k − 1/c_{k+1}), where 1/c of the last successor is 0.
 * If requests have weights, costs are per unit of weight, and service counts by weight. Only some f(S_k) are computed;
 * between two of them f is bounded by the later one, and grows by at most the cost of the requests added.
 */
export function mostServed(windows: Windows, costNs: Float64Array, gpus: number): ServedBound {
  const scarceNs = new Float64Array(windows.count).fill(Number.POSITIVE_INFINITY);
  if (windows.count === 0) return { served: 0, scarceNs };
  const { weight } = windows;
  const rankNs = weight === null ? costNs : costNs.map((cost, i) => cost / weight[i]);
  const work = (limitNs: number) => mostWork(windows, costNs, limitNs, gpus, scarceNs, rankNs);
  const levels = costLevels(rankNs, costNs);
  const last = levels.costNs.length - 1;
  const bracket = new Bracket(levels);
  bracket.pin(last, work(levels.costNs[last]));
  for (let pass = 1; pass < MOST_PASSES; pass++) {
    const k = bracket.worthKnowing();
    if (k < 0) break;
    bracket.pin(k, work(levels.costNs[k]));
  }
  return { served: bracket.value(), scarceNs };
}

interface CostLevels {
  /** Distinct costs, per unit of weight if requests have weights, ascending. */
  readonly costNs: Float64Array;
  /** Work of all requests that cost at most this much. */
  readonly offeredNs: Float64Array;
}

function costLevels(rankNs: Float64Array, costNs: Float64Array): CostLevels {
  const order = Uint32Array.from(rankNs, (_, i) => i).sort((a, b) => rankNs[a] - rankNs[b]);
  const levels = new Float64Array(order.length);
  const offeredNs = new Float64Array(order.length);
  let count = 0;
  let totalNs = 0;
  for (let k = 0; k < order.length; k++) {
    totalNs += costNs[order[k]];
    if (k + 1 < order.length && rankNs[order[k + 1]] === rankNs[order[k]]) continue;
    levels[count] = rankNs[order[k]];
    offeredNs[count++] = totalNs;
  }
  return { costNs: levels.slice(0, count), offeredNs: offeredNs.slice(0, count) };
}

/** Bounds on f at each level: exact where pinned, from below and above in between. */
class Bracket {
  private readonly below: Float64Array;
  private readonly above: Float64Array;
  /** 1/c_k − 1/c_{k+1}. */
  private readonly weight: Float64Array;
  private readonly pinned: number[] = [];

  constructor(private readonly levels: CostLevels) {
    const { costNs, offeredNs } = levels;
    this.below = new Float64Array(costNs.length);
    this.above = offeredNs.slice();
    this.weight = costNs.map((cost, k) => 1 / cost - (k + 1 < costNs.length ? 1 / costNs[k + 1] : 0));
  }

  /** Sets f at level `k` to `workNs`, and tightens the bounds up to the neighboring pinned levels. */
  pin(k: number, workNs: number): void {
    const { below, above } = this;
    const { offeredNs } = this.levels;
    const at = this.pinned.filter((other) => other < k).length;
    const from = at === 0 ? 0 : this.pinned[at - 1] + 1;
    const to = at === this.pinned.length ? k : this.pinned[at] - 1;
    for (let j = from; j < k; j++) {
      above[j] = Math.min(above[j], workNs);
      below[j] = Math.max(below[j], workNs - (offeredNs[k] - offeredNs[j]));
    }
    for (let j = k + 1; j <= to; j++) {
      above[j] = Math.min(above[j], workNs + offeredNs[j] - offeredNs[k]);
      below[j] = Math.max(below[j], workNs);
    }
    below[k] = workNs;
    above[k] = workNs;
    this.pinned.splice(at, 0, k);
  }

  /** Level that halves the largest uncertainty between two pinned levels; −1 if all uncertainty is small. */
  worthKnowing(): number {
    let totalDoubt = 0;
    let largest = 0;
    let begin = 0;
    for (let at = 0, from = 0; at < this.pinned.length; from = this.pinned[at++] + 1) {
      const doubt = this.doubt(from, this.pinned[at]);
      totalDoubt += doubt;
      if (doubt > largest) {
        largest = doubt;
        begin = from;
      }
    }
    if (totalDoubt <= PRECISION * this.value()) return -1;
    let k = begin;
    for (let doubt = this.doubtAt(k); doubt < largest / 2; doubt += this.doubtAt(k)) k++;
    return k;
  }

  /** Upper bound of the total. */
  value(): number {
    return this.above.reduce((sum, workNs, k) => sum + workNs * this.weight[k], 0);
  }

  private doubt(from: number, to: number): number {
    let sum = 0;
    for (let k = from; k < to; k++) sum += this.doubtAt(k);
    return sum;
  }

  private doubtAt(k: number): number {
    return (this.above[k] - this.below[k]) * this.weight[k];
  }
}

/**
 * Maximum work, ns of GPU time, that a preemptive machine as fast as `gpus` GPUs can do on the requests that cost at
 * most `limitNs`, each within its window and limited to its cost. Earliest deadline first attains it: it never idles
 * while there is work, and what it leaves undone would fit no better elsewhere.
 *
 * `rankNs`: compared with the limit in place of the cost. `scarceNs`, if given, is lowered to `limitNs` for the
 * requests that are not finished.
 */
export function mostWork(
  windows: Windows,
  costNs: Float64Array,
  limitNs: number,
  gpus: number,
  scarceNs?: Float64Array,
  rankNs: Float64Array = costNs,
): number {
  const { count, arrivalNs, deadlineNs } = windows;
  const leftNs = costNs.slice();
  const queue = new DueQueue();
  let nowNs = 0;
  let workNs = 0;
  const workUntil = (untilNs: number) => {
    while (queue.size > 0 && nowNs < untilNs) {
      const i = queue.topSlot;
      const finishNs = nowNs + leftNs[i] / gpus;
      const stopNs = Math.min(finishNs, deadlineNs[i], untilNs);
      if (stopNs > nowNs) {
        const doneNs = stopNs === finishNs ? leftNs[i] : (stopNs - nowNs) * gpus;
        leftNs[i] -= doneNs;
        workNs += doneNs;
        nowNs = stopNs;
      }
      if (stopNs < finishNs && stopNs >= deadlineNs[i] && scarceNs !== undefined)
        scarceNs[i] = Math.min(scarceNs[i], limitNs);
      if (stopNs < untilNs || stopNs === finishNs || stopNs >= deadlineNs[i]) queue.pop();
    }
  };
  for (let i = 0; i < count; i++) {
    if (rankNs[i] > limitNs) continue;
    workUntil(arrivalNs[i]);
    nowNs = Math.max(nowNs, arrivalNs[i]);
    queue.push(deadlineNs[i], i, i);
  }
  workUntil(Number.POSITIVE_INFINITY);
  return workNs;
}
