import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import type { Durations } from './durations.js';
import type { Waiting } from './waiting.js';

/** Discount, relative to slack, of requests for the excess of their SLO over that of the first of their queue. */
export const FOLLOWER_WEIGHT = 0.2;

/** Queue that a batch draws from, and its part of the batch: `count` requests starting at `from`. */
class Source {
  queue = new DeadlineQueue();
  line = 0;
  requestClass = 0;
  /** Logarithm of the worth of a request. */
  logWorth = 0;
  from = 0;
  count = 0;
}

/**
 * Batches of a model whose requests differ in weight or length. One that is padded to a bucket draws from the queues of
 * all classes in this bucket and the shorter ones, or in a single line if inputs are not padded. Within a queue requests
 * go by deadline. Between queues the next one is that with the highest ln(worth) − c · slack / W, so a batch takes the
 * most valuable requests first, and a light request precedes a heavy one only if that can wait. A request is worth its
 * weight. A shorter one is worth less, by the time that it would take in a full batch of its own bucket, so a batch
 * grows for short requests only if that saves time. The batch is worth the sum over its requests, discounted by the
 * slack of the first of each queue: with one queue, this equals `Chooser`'s score.
 */
export class MixedBatch {
  private model = 0;
  private endNs = 0;
  private count = 0;
  private readonly sources: Source[] = [];
  /** Sources of the kept batch. */
  private readonly kept: Source[] = [];
  private keptCount = 0;
  private readonly byClass: Int32Array;

  constructor(
    private readonly requests: RequestTable,
    private readonly waiting: Waiting,
    private readonly durations: Durations,
  ) {
    this.byClass = new Int32Array(waiting.classes);
  }

  /** Begins with batches that are padded to the bucket of a line; false if nothing waits in the line. */
  begin(model: number, line: number): boolean {
    const { waiting, durations, sources } = this;
    this.model = model;
    this.count = 0;
    const last = durations.isUnpadded(model) ? line : 0;
    const costNs = durations.costNs(model, waiting.bucketOf(model, line));
    for (let each = line; each >= last; each--) {
      const ownNs = each === line ? costNs : durations.costNs(model, each);
      const logCost = Math.log(ownNs / costNs);
      const relative = ownNs / durations.costNs(model, 0);
      for (let c = 0; c < waiting.classes; c++) {
        const queue = waiting.queue(model, each, c);
        if (queue.length === 0) continue;
        if (this.count === sources.length) sources.push(new Source());
        const source = sources[this.count++];
        source.queue = queue;
        source.line = each;
        source.requestClass = c;
        source.logWorth = waiting.weights.logWorth(c, relative) + logCost;
        source.from = 0;
      }
      if (this.count === 0) return false;
    }
    return true;
  }

  /** Leaves out requests that cannot be answered by `endNs`, which never decreases; returns the number in time. */
  leaveOut(endNs: number): number {
    this.endNs = endNs;
    let left = 0;
    for (let i = 0; i < this.count; i++) {
      const source = this.sources[i];
      const { queue } = source;
      while (source.from < queue.length && queue.deadlineNsAt(source.from) < endNs) source.from++;
      left += queue.length - source.from;
    }
    return left;
  }

  /** Fills a batch with `count` of the requests that are in time; returns the logarithm of its value. */
  fill(count: number, perSlack: number): number {
    const { sources } = this;
    for (let i = 0; i < this.count; i++) sources[i].count = 0;
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const best = this.next(perSlack);
      if (i === 0) most = this.logValue(best, 0, perSlack);
      best.count++;
    }
    return most + Math.log(this.relativeWorth(most, perSlack));
  }

  keep(): void {
    const { kept } = this;
    this.keptCount = 0;
    for (let i = 0; i < this.count; i++) {
      const { queue, line, requestClass, from, count } = this.sources[i];
      if (count === 0) continue;
      if (this.keptCount === kept.length) kept.push(new Source());
      Object.assign(kept[this.keptCount++], { queue, line, requestClass, from, count });
    }
  }

  /** Moves the requests of the kept batch, an INFER of `durationNs`, into `batch`. Returns their earliest deadline, ns. */
  take(model: number, batch: Int32Array, durationNs: number): number {
    const { waiting, kept, byClass } = this;
    let firstNs = Number.POSITIVE_INFINITY;
    let taken = 0;
    byClass.fill(0);
    for (let i = 0; i < this.keptCount; i++) {
      const { queue, line, requestClass, from, count } = kept[i];
      firstNs = Math.min(firstNs, queue.deadlineNsAt(from));
      waiting.take(model, from, count, batch, line, requestClass, taken);
      taken += count;
      byClass[requestClass] += count;
    }
    waiting.weights.sent(durationNs, byClass, waiting.byClass);
    return firstNs;
  }

  /** Source whose next request has the highest value; there must be one. */
  private next(perSlack: number): Source {
    const { sources } = this;
    let best = sources[0];
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < this.count; i++) {
      const source = sources[i];
      if (source.from + source.count >= source.queue.length) continue;
      const value = this.logValue(source, source.count, perSlack);
      if (value <= most) continue;
      most = value;
      best = source;
    }
    return best;
  }

  /** Logarithm of the value of a source's `nth` request in time. */
  private logValue({ queue, logWorth, from }: Source, nth: number, perSlack: number): number {
    return logWorth - (queue.deadlineNsAt(from + nth) - this.endNs) * perSlack;
  }

  /** Value of the batch as a multiple of e^`most`. */
  private relativeWorth(most: number, perSlack: number): number {
    const isMixed = Number.isNaN(this.waiting.sloNs[this.model]);
    let worth = 0;
    for (let i = 0; i < this.count; i++) {
      const source = this.sources[i];
      if (source.count === 0) continue;
      const each = Math.exp(this.logValue(source, 0, perSlack) - most);
      worth += each * (isMixed ? this.followers(source, perSlack) : source.count);
    }
    return worth;
  }

  /** Effective number of a source's requests in the batch; those with a longer SLO than the first count less. */
  private followers({ queue, from, count }: Source, perSlack: number): number {
    const { sloNs } = this.requests;
    const firstNs = sloNs[queue.slotAt(from)];
    let effective = 0;
    for (let i = from; i < from + count; i++) {
      const longerNs = sloNs[queue.slotAt(i)] - firstNs;
      effective += longerNs > 0 ? Math.exp(-FOLLOWER_WEIGHT * longerNs * perSlack) : 1;
    }
    return effective;
  }
}
