import type { RequestTable } from '../../core/request.js';
import type { Waiting } from './waiting.js';

/** Discount, relative to slack, of requests for the excess of their SLO over that of the first of their class. */
export const FOLLOWER_WEIGHT = 0.2;

/**
 * Batches of a model whose requests differ in weight. Within a class requests go by deadline. Between classes the next
 * one is that with the highest ln(weight) − c · slack / W, so a batch takes the most valuable requests first, and a
 * light request precedes a heavy one only if that can wait. The batch is worth the weights of its requests, discounted
 * by the slack of the first of each class: with one class, this equals `Chooser`'s score.
 */
export class MixedBatch {
  /** By class: first request that is still in time, and number from there on in the batch. */
  private readonly from: Int32Array;
  private readonly counts: Int32Array;
  /** Counterparts of `from` and `count` for the kept batch. */
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

  /** Leaves out requests that cannot be answered by `endNs`, which never decreases; returns the number in time. */
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

  /** Fills a batch with `count` of the requests that are in time; returns the logarithm of its value. */
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

  /** Moves the requests of the kept batch into `batch`. Returns their earliest deadline, ns. */
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

  /** Class whose next request is worth most. */
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

  /** Value of a class's `nth` request in time. */
  private valueAt(c: number, nth: number, perSlack: number): number {
    const { waiting, from, endNs } = this;
    const queue = waiting.queues[this.model * waiting.classes + c];
    return waiting.weights.logWeight[c] - (queue.deadlineNsAt(from[c] + nth) - endNs) * perSlack;
  }

  /** Value of the batch as a multiple of e^`most`. */
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

  /** Effective number of a class's requests in the batch; those with a longer SLO than the first count less. */
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
