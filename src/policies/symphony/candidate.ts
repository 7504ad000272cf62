import type { Cluster } from '../../core/cluster.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';

/**
 * The batch that a model would run if it started at a given time: the largest that ends a margin before the deadline of its
 * oldest request. Requests that have missed the margin, and not their deadlines, go at once where there are no others.
 * One object is filled in again and again. Sizes that the profile lacks take as long as the next one that it has.
 */
export class Candidate {
  /** Index in the queue of the oldest request that can still be met; how many go with it; as which batch size. */
  first = 0;
  count = 0;
  batchIndex = 0;
  /** The last time at which one request more could still join: before that, waiting costs nothing. */
  frontrunNs = 0;
  /** The last time at which it may start. */
  latestNs = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly marginNs: number,
  ) {}

  /** Uses the first `sizes` batch sizes. False: none of the queue's requests can be met. */
  form(gpu: number, model: number, queue: DeadlineQueue, sizes: number, startNs: number): boolean {
    const { cluster } = this;
    const { batchSizes } = cluster.models[model];
    const endNs = startNs + cluster.execNs(gpu, model, 0);
    this.first = queue.firstFrom(endNs + this.marginNs);
    // Those that have missed the margin go where nothing else waits.
    if (this.first === queue.length) this.first = queue.firstFrom(endNs);
    const waiting = queue.length - this.first;
    if (waiting === 0) return false;
    const targetNs = queue.deadlineNsAt(this.first) - this.marginNs;
    let b = 0;
    while (b + 1 < sizes && batchSizes[b] < waiting) {
      if (startNs + cluster.execNs(gpu, model, b + 1) > targetNs) break;
      b++;
    }
    this.batchIndex = b;
    this.count = Math.min(waiting, batchSizes[b]);
    const startByNs = targetNs - cluster.execNs(gpu, model, b);
    this.latestNs = startByNs + this.marginNs;
    const joined = this.count < batchSizes[b] ? b : b + 1;
    // A larger batch that was measured may count as shorter: there is no waiting for it beyond the last start of this one.
    this.frontrunNs =
      joined < sizes ? Math.min(targetNs - cluster.execNs(gpu, model, joined), startByNs) : startNs;
    return true;
  }
}
