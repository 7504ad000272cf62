import type { Cluster } from '../../core/cluster.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';

/**
 * The batch that a model would run if it started at a given time. Requests that are so nearly late that they would keep
 * the batch below its target are passed over; the first of the others sets its deadline, and as many join as that allows.
 * It ends a margin before the deadline; requests that have missed the margin, and not their deadlines, go at once where there
 * are no others. One object is filled in again and again. Sizes that the profile lacks take as long as the next one that it has.
 */
export class Candidate {
  /** Index in the queue of the first request that goes; how many do; as which batch size. */
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
  form(
    gpu: number,
    model: number,
    queue: DeadlineQueue,
    sizes: number,
    target: number,
    startNs: number,
  ): boolean {
    const { cluster } = this;
    const { batchSizes } = cluster.models[model];
    const untilNs = startNs + this.marginNs;
    const least = Math.min(target, this.largestTail(gpu, model, queue, sizes, untilNs));
    let b = 0;
    while (batchSizes[b] < least) b++;
    this.first = queue.firstFrom(untilNs + cluster.execNs(gpu, model, b));
    // Those that have missed the margin go where nothing else waits.
    if (this.first === queue.length) this.first = queue.firstFrom(startNs + cluster.execNs(gpu, model, b));
    const waiting = queue.length - this.first;
    if (waiting === 0) return false;
    const targetNs = queue.deadlineNsAt(this.first) - this.marginNs;
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

  /** The most requests from the end of the queue that can run together; 1 if not even the last can be met. */
  private largestTail(
    gpu: number,
    model: number,
    queue: DeadlineQueue,
    sizes: number,
    startNs: number,
  ): number {
    const { batchSizes } = this.cluster.models[model];
    let most = 1;
    for (let b = 0; b < sizes; b++) {
      const left = queue.length - queue.firstFrom(startNs + this.cluster.execNs(gpu, model, b));
      most = Math.max(most, Math.min(batchSizes[b], left));
      if (left <= batchSizes[b]) break;
    }
    return most;
  }
}
