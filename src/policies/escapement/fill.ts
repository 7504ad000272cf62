import type { Durations } from './durations.js';
import type { Waiting } from './waiting.js';

/** Shorter requests that fill up a batch of longer ones, longest first. */
export class Fill {
  /** Number in the batch chosen so far. */
  count = 0;
  private endNs = 0;

  constructor(
    private readonly durations: Durations,
    private readonly waiting: Waiting,
  ) {}

  /** Keeps the best batch so far: it takes this many, all in time if it is answered by `endNs`. */
  keep(count: number, endNs: number): void {
    this.count = count;
    this.endNs = endNs;
  }

  /** Number of requests of shorter buckets that would be answered by `endNs`. */
  countInTime(model: number, bucket: number, endNs: number): number {
    if (this.durations.isUnpadded(model)) return 0;
    let count = 0;
    for (let other = 0; other < bucket; other++) {
      const queue = this.waiting.queue(model, other);
      count += queue.length - queue.firstFrom(endNs);
    }
    return count;
  }

  /**
   * Value of `fill` such requests: the time that they would take in batches of their own length, relative to a request
   * as long as the batch. So a batch grows for them only if that saves time.
   */
  worth(model: number, bucket: number, fill: number, endNs: number): number {
    const { waiting, durations } = this;
    const costNs = durations.costNs(model, bucket);
    let worth = 0;
    let left = fill;
    for (let other = bucket - 1; left > 0; other--) {
      const queue = waiting.queue(model, other);
      const count = Math.min(left, queue.length - queue.firstFrom(endNs));
      worth += (count * durations.costNs(model, other)) / costNs;
      left -= count;
    }
    return worth;
  }

  /** Moves them into `batch` starting at `at`. Returns their earliest deadline, ns. */
  take(model: number, bucket: number, batch: Int32Array, at: number): number {
    const { waiting } = this;
    let firstNs = Number.POSITIVE_INFINITY;
    let left = this.count;
    for (let other = bucket - 1; left > 0; other--) {
      const queue = waiting.queue(model, other);
      const from = queue.firstFrom(this.endNs);
      const count = Math.min(left, queue.length - from);
      if (count === 0) continue;
      firstNs = Math.min(firstNs, queue.deadlineNsAt(from));
      waiting.take(model, from, count, batch.subarray(at + this.count - left), other);
      left -= count;
    }
    return firstNs;
  }
}
