import type { Cluster } from '../../core/cluster.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { RunningBatches } from './running-batches.js';

/** A model that might replace what a GPU runs, from `startNs` on, in its first `sizes` batch sizes. */
interface Contender {
  readonly gpu: number;
  readonly model: number;
  readonly queue: DeadlineQueue;
  readonly sizes: number;
  readonly startNs: number;
}

/**
 * The largest batch of a model that meets all of its members' deadlines if it starts at a given time. Requests that
 * would not allow for it are passed over; they may still be met by a smaller one. One object is filled in
 * again and again.
 */
export class LargestBatch {
  /** Index in the queue of its first member; how many there are, in one row; as which batch size. */
  first = 0;
  count = 0;
  batchIndex = 0;
  /** Of the first member. */
  deadlineNs = 0;

  constructor(private readonly cluster: Cluster) {}

  /** Uses the first `sizes` batch sizes. Returns the batch's value, `count`. */
  form(gpu: number, model: number, queue: DeadlineQueue, sizes: number, startNs: number): number {
    const { cluster } = this;
    const { batchSizes } = cluster.models[model];
    this.count = 0;
    for (let b = 0; b < sizes; b++) {
      const first = queue.firstFrom(startNs + cluster.execNs(gpu, model, b));
      const left = queue.length - first;
      if (Math.min(left, batchSizes[b]) > this.count) {
        this.first = first;
        this.count = Math.min(left, batchSizes[b]);
        this.batchIndex = b;
        this.deadlineNs = queue.deadlineNsAt(first);
      }
      // What does not fill this size fills no larger one.
      if (left <= batchSizes[b]) break;
    }
    return this.count;
  }

  /** The value of the batch that the model could run on the GPU instead of what runs there, whose requests may join it. */
  countWith(running: RunningBatches, { gpu, model, queue, sizes, startNs }: Contender): number {
    const { cluster } = this;
    const { batchSizes } = cluster.models[model];
    let most = 0;
    for (let b = 0; b < sizes; b++) {
      const endNs = startNs + cluster.execNs(gpu, model, b);
      const left = queue.length - queue.firstFrom(endNs) + running.joinable(gpu, model, endNs);
      most = Math.max(most, Math.min(left, batchSizes[b]));
      // As above: GPUs would stop batches without end for one that is not formed then.
      if (left <= batchSizes[b]) break;
    }
    return most;
  }
}
