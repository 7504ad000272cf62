import type { Cluster } from '../../core/cluster.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';

/**
 * Batch that a model would run if it started at a given time. Requests so nearly late that they would keep the batch
 * below its target are passed over; the first of the others sets its deadline, and as many join as that allows. It ends
 * a margin before the deadline; requests that have missed the margin, but not their deadlines, go at once if there are
 * no others. The object is reused. Sizes missing from the profile take as long as the next larger one.
 */
export class Candidate {
  /** Queue index of the first request; number of requests; index of the batch size. */
  first = 0;
  count = 0;
  batchIndex = 0;
  /** Last time at which one more request could still join: before that, waiting costs nothing. */
  frontrunNs = 0;
  /** Latest start. */
  latestNs = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly marginNs: number,
  ) {}

  /** Forms the batch from the first `sizes` batch sizes. False if none of the queue's requests can be met. */
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
    // Requests that have missed the margin go if nothing else waits.
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
    // By measurement a larger batch may be shorter: never wait for it beyond the latest start of this one.
    this.frontrunNs =
      joined < sizes ? Math.min(targetNs - cluster.execNs(gpu, model, joined), startByNs) : startNs;
    return true;
  }

  /** Largest number of requests from the end of the queue that can run together; 1 if not even the last can be met. */
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
