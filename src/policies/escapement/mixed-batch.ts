import type { RequestTable } from '../../core/request.js';
import type { Waiting } from './waiting.js';

/** How much less requests count for what their SLOs exceed that of the first of their class by, relative to slack. */
export const FOLLOWER_WEIGHT = 0.2;

/**
 * The batches of a model whose requests weigh differently. Within a class requests go by deadline. Between classes the
 * next one is that with the most ln(weight) − c · slack / W, so a batch takes what is worth most now, and a light request
 * goes before a heavy one only if that can wait. The batch is worth the weights of its requests, discounted by the slack
 * of the first of each class: with one class, what `Chooser` says of it.
 */
export class MixedBatch {
  /** By class: the first request that is still in time, and how many from there on are in the batch. */
  private readonly from: Int32Array;
  private readonly counts: Int32Array;
  /** The same of the batch that was kept. */
  private readonly keptFrom: Int32Array;
  private readonly keptCounts: Int32Array;
  private scratch = new Int32Array(64);
  private model = 0;
  private endNs = 0;

  constructor(
    private readonly requests: RequestTable,
    private readonly waiting: Waiting,
  ) {
    const { classes } = waiting;
    this.from = new Int32Array(classes);
    this.counts = new Int32Array(classes);
    this.keptFrom = new Int32Array(classes);
    this.keptCounts = new Int32Array(classes);
  }

  begin(model: number): void {
    this.model = model;
    this.from.fill(0);
  }

  /** Requests that are answered by `endNs` at best, ns, which never falls: returns how many of them are in time. */
  leaveOut(endNs: number): number {
    const { waiting, from } = this;
    const first = this.model * waiting.classes;
    this.endNs = endNs;
    let left = 0;
    for (let c = 0; c < waiting.classes; c++) {
      const queue = waiting.queues[first + c];
      let at = from[c];
      while (at < queue.length && queue.deadlineNsAt(at) < endNs) at++;
      from[c] = at;
      left += queue.length - at;
    }
    return left;
  }

  /** Fills a batch with `count` of the requests that are in time; returns the logarithm of what it is worth. */
  fill(count: number, perSlack: number): number {
    const { counts } = this;
    counts.fill(0);
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const best = this.next(perSlack);
      if (i === 0) most = this.valueAt(best, 0, perSlack);
      counts[best]++;
    }
    return most + Math.log(this.relativeWorth(most, perSlack));
  }

  keep(): void {
    this.keptFrom.set(this.from);
    this.keptCounts.set(this.counts);
  }

  /** Moves the requests of the batch that was kept into `batch`. Returns the earliest deadline among them, ns. */
  take(model: number, batch: Int32Array, durationNs: number): number {
    const { waiting, keptFrom, keptCounts } = this;
    if (this.scratch.length < batch.length) this.scratch = new Int32Array(batch.length);
    let firstNs = Number.POSITIVE_INFINITY;
    for (let c = 0; c < waiting.classes; c++) {
      if (keptCounts[c] === 0) continue;
      firstNs = Math.min(firstNs, waiting.queues[model * waiting.classes + c].deadlineNsAt(keptFrom[c]));
    }
    waiting.takeOfEach(model, keptFrom, keptCounts, batch, this.scratch);
    waiting.weights.sent(durationNs, keptCounts, waiting.byClass);
    return firstNs;
  }

  /** The class whose next request is worth most. */
  private next(perSlack: number): number {
    const { waiting, from, counts } = this;
    const first = this.model * waiting.classes;
    let best = -1;
    let most = Number.NEGATIVE_INFINITY;
    for (let c = 0; c < waiting.classes; c++) {
      if (from[c] + counts[c] >= waiting.queues[first + c].length) continue;
      const value = this.valueAt(c, counts[c], perSlack);
      if (best >= 0 && value <= most) continue;
      most = value;
      best = c;
    }
    return best;
  }

  /** What the request of a class is worth that is `nth` of those in time. */
  private valueAt(c: number, nth: number, perSlack: number): number {
    const { waiting, from, endNs } = this;
    const queue = waiting.queues[this.model * waiting.classes + c];
    return waiting.weights.logWeight[c] - (queue.deadlineNsAt(from[c] + nth) - endNs) * perSlack;
  }

  /** Of the batch, as a multiple of e^`most`. */
  private relativeWorth(most: number, perSlack: number): number {
    const { waiting, counts } = this;
    const isMixed = Number.isNaN(waiting.sloNs[this.model]);
    let worth = 0;
    for (let c = 0; c < waiting.classes; c++) {
      if (counts[c] === 0) continue;
      const each = Math.exp(this.valueAt(c, 0, perSlack) - most);
      worth += each * (isMixed ? this.followers(c, perSlack) : counts[c]);
    }
    return worth;
  }

  /** Requests of a class in the batch; those with a longer SLO than its first one count less. */
  private followers(c: number, perSlack: number): number {
    const { waiting, requests, from, counts } = this;
    const { sloNs } = requests;
    const queue = waiting.queues[this.model * waiting.classes + c];
    const firstNs = sloNs[queue.slotAt(from[c])];
    let count = 0;
    for (let i = from[c]; i < from[c] + counts[c]; i++) {
      const longerNs = sloNs[queue.slotAt(i)] - firstNs;
      count += longerNs > 0 ? Math.exp(-FOLLOWER_WEIGHT * longerNs * perSlack) : 1;
    }
    return count;
  }
}
