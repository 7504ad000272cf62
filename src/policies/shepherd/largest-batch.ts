import type { Cluster } from '../../core/cluster.js';
import type { DeadlineQueue } from '../common/deadline-queue.js';
import type { RunningBatches } from './running-batches.js';

/** A model that might replace a GPU's running batch, from `startNs` on, in its first `sizes` batch sizes. */
interface Contender {
  readonly gpu: number;
  readonly model: number;
  readonly queue: DeadlineQueue;
  readonly sizes: number;
  readonly startNs: number;
}

/**
 * Largest batch of a model that meets all of its members' deadlines if it starts at a given time. Requests that would
 * prevent that are passed over; a smaller batch may still meet them. The object is reused.
 */
export class LargestBatch {
  /** Queue index of its first member; number of consecutive members; index of the batch size. */
  first = 0;
  count = 0;
  batchIndex = 0;
  /** Deadline of the first member. */
  deadlineNs = 0;

  constructor(private readonly cluster: Cluster) {}

  /** Forms the batch from the first `sizes` batch sizes. Returns its value, `count`. */
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
      // Too few for this size are too few for any larger one.
      if (left <= batchSizes[b]) break;
    }
    return this.count;
  }

  /** Value of the batch that the model could run on the GPU in place of the running one, whose requests may join it. */
  countWith(running: RunningBatches, { gpu, model, queue, sizes, startNs }: Contender): number {
    const { cluster } = this;
    const { batchSizes } = cluster.models[model];
    let most = 0;
    for (let b = 0; b < sizes; b++) {
      const endNs = startNs + cluster.execNs(gpu, model, b);
      const left = queue.length - queue.firstFrom(endNs) + running.joinable(gpu, model, endNs);
      most = Math.max(most, Math.min(left, batchSizes[b]));
      // As above: otherwise GPUs would stop batches without end for one that is then not formed.
      if (left <= batchSizes[b]) break;
    }
    return most;
  }
}
