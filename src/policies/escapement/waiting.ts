import { BitMatrix } from '../../base/bit-matrix.js';
import type { Cluster } from '../../core/cluster.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import type { Durations } from './durations.js';

/** The requests that wait, by model, and what they mean for the GPUs that could serve them. */
export class Waiting {
  readonly queues: readonly DeadlineQueue[];
  /** Row = GPU: models that are warm there and have requests. */
  readonly byGpu: BitMatrix;
  /** Time that a single GPU needs for all that waits, in the largest batches. */
  backlogNs = 0;
  /** By model: SLO of its requests; 0 before the first, NaN where several have been seen. */
  readonly sloNs: Float64Array;
  private readonly shareNs: Float64Array;
  private requests = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly durations: Durations,
  ) {
    this.queues = cluster.models.map(() => new DeadlineQueue());
    this.byGpu = new BitMatrix(cluster.gpus, cluster.models.length);
    this.sloNs = new Float64Array(cluster.models.length);
    this.shareNs = new Float64Array(cluster.models.length);
  }

  get isEmpty(): boolean {
    return this.requests === 0;
  }

  push(slot: number, model: number, deadlineNs: number, sloNs: number): void {
    if (this.sloNs[model] !== sloNs) this.sloNs[model] = this.sloNs[model] === 0 ? sloNs : Number.NaN;
    const queue = this.queues[model];
    queue.push(slot, deadlineNs);
    this.requests++;
    if (queue.length === 1) {
      const { warm } = this.cluster;
      for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
        this.byGpu.add(gpu, model);
      }
    }
    this.renew(model);
  }

  remove(slot: number, model: number): void {
    if (!this.queues[model].remove(slot)) return;
    this.requests--;
    this.shrunk(model);
  }

  /** Moves `count` requests of a model from `from` on into `into`. */
  take(model: number, from: number, count: number, into: Int32Array): void {
    this.queues[model].take(from, count, into);
    this.requests -= count;
    this.shrunk(model);
  }

  /** The model has become warm on the GPU. */
  warmed(gpu: number, model: number): void {
    if (this.queues[model].length > 0) this.byGpu.add(gpu, model);
  }

  /** The model is not warm on the GPU any more. */
  cooled(gpu: number, model: number): void {
    this.byGpu.delete(gpu, model);
  }

  /** Nothing is known of the SLOs of what is in the slot now. */
  forget(model: number): void {
    this.sloNs[model] = 0;
  }

  private shrunk(model: number): void {
    if (this.queues[model].length === 0) {
      const { warm } = this.cluster;
      for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
        this.byGpu.delete(gpu, model);
      }
    }
    this.renew(model);
  }

  private renew(model: number): void {
    const { durations } = this;
    const row = durations.row[model];
    const last = durations.usable[model] - 1;
    const waiting = this.queues[model].length;
    const full = Math.floor(waiting / durations.size[row + last]);
    const rest = waiting - full * durations.size[row + last];
    let shareNs = full * durations.execNs[row + last];
    if (rest > 0) shareNs += durations.execNs[row + durations.sizeFor(model, rest)];
    // Rounding does not pile up over a long run.
    this.backlogNs = this.requests === 0 ? 0 : this.backlogNs + shareNs - this.shareNs[model];
    this.shareNs[model] = shareNs;
  }
}
