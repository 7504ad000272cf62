import { BitMatrix } from '../../base/bit-matrix.js';
import { ONE_CLASS } from '../../core/classes.js';
import type { Cluster } from '../../core/cluster.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { ClassWeights } from './class-weights.js';
import type { Durations } from './durations.js';

/** The requests that wait, by model, and what they mean for the GPUs that could serve them. */
export class Waiting {
  /** A queue for each class of each model: element `model * classes + class`. */
  readonly queues: readonly DeadlineQueue[];
  readonly classes: number;
  /** Requests by model, and by class. */
  readonly count: Int32Array;
  readonly byClass: Int32Array;
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
    readonly weights = new ClassWeights(ONE_CLASS),
  ) {
    this.classes = weights.count;
    const queues = cluster.models.length * weights.count;
    this.queues = Array.from({ length: queues }, () => new DeadlineQueue());
    this.count = new Int32Array(cluster.models.length);
    this.byClass = new Int32Array(weights.count);
    this.byGpu = new BitMatrix(cluster.gpus, cluster.models.length);
    this.sloNs = new Float64Array(cluster.models.length);
    this.shareNs = new Float64Array(cluster.models.length);
  }

  get isEmpty(): boolean {
    return this.requests === 0;
  }

  push(slot: number, model: number, deadlineNs: number, sloNs: number, requestClass = 0): void {
    if (this.sloNs[model] !== sloNs) this.sloNs[model] = this.sloNs[model] === 0 ? sloNs : Number.NaN;
    this.queues[model * this.classes + requestClass].push(slot, deadlineNs);
    this.requests++;
    this.byClass[requestClass]++;
    if (++this.count[model] === 1) {
      const { warm } = this.cluster;
      for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
        this.byGpu.add(gpu, model);
      }
    }
    this.renew(model);
  }

  remove(slot: number, model: number, requestClass = 0): void {
    if (!this.queues[model * this.classes + requestClass].remove(slot)) return;
    this.left(model, requestClass, 1);
    this.shrunk(model);
  }

  /** Moves `count` requests of a model from `from` on into `into`. */
  take(model: number, from: number, count: number, into: Int32Array): void {
    this.queues[model].take(from, count, into);
    this.left(model, 0, count);
    this.shrunk(model);
  }

  /** The same of each class; `scratch` holds as many. */
  takeOfEach(
    model: number,
    from: Int32Array,
    counts: Int32Array,
    into: Int32Array,
    scratch: Int32Array,
  ): void {
    let taken = 0;
    for (let c = 0; c < this.classes; c++) {
      if (counts[c] === 0) continue;
      this.queues[model * this.classes + c].take(from[c], counts[c], scratch);
      for (let i = 0; i < counts[c]; i++) into[taken++] = scratch[i];
      this.left(model, c, counts[c]);
    }
    this.shrunk(model);
  }

  /** What the model's requests are worth that are due at `ns` or later. */
  worthFrom(model: number, ns: number): number {
    const { queues, classes, weights } = this;
    let worth = 0;
    for (let c = 0, at = model * classes; c < classes; c++, at++) {
      const queue = queues[at];
      if (queue.length > 0) worth += weights.weight[c] * (queue.length - queue.firstFrom(ns));
    }
    return worth;
  }

  /** What all of the model's requests are worth. */
  worth(model: number): number {
    const { queues, classes, weights } = this;
    let worth = 0;
    for (let c = 0, at = model * classes; c < classes; c++, at++)
      worth += weights.weight[c] * queues[at].length;
    return worth;
  }

  /** Requests of the model that go before one of the class that is due at `deadlineNs`, for certain. */
  countBefore(model: number, requestClass: number, deadlineNs: number): number {
    const { queues, classes, weights } = this;
    const first = model * classes;
    const own = queues[first + requestClass].countBefore(deadlineNs);
    // One that is owed its share goes before heavier ones, too.
    if (classes === 1 || weights.isGuaranteed[requestClass] === 1) return own;
    const weight = weights.declared(requestClass);
    let before = own;
    for (let c = 0; c < classes; c++)
      if (c !== requestClass && weights.declared(c) >= weight)
        before += queues[first + c].countBefore(deadlineNs);
    return before;
  }

  /** The model has become warm on the GPU. */
  warmed(gpu: number, model: number): void {
    if (this.count[model] > 0) this.byGpu.add(gpu, model);
  }

  /** The model is not warm on the GPU any more. */
  cooled(gpu: number, model: number): void {
    this.byGpu.delete(gpu, model);
  }

  /** Nothing is known of the SLOs of what is in the slot now. */
  forget(model: number): void {
    this.sloNs[model] = 0;
  }

  private left(model: number, requestClass: number, count: number): void {
    this.requests -= count;
    this.byClass[requestClass] -= count;
    this.count[model] -= count;
  }

  private shrunk(model: number): void {
    if (this.count[model] === 0) {
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
    const waiting = this.count[model];
    const full = Math.floor(waiting / durations.size[row + last]);
    const rest = waiting - full * durations.size[row + last];
    let shareNs = full * durations.execNs[row + last];
    if (rest > 0) shareNs += durations.execNs[row + durations.sizeFor(model, rest)];
    // Rounding does not pile up over a long run.
    this.backlogNs = this.requests === 0 ? 0 : this.backlogNs + shareNs - this.shareNs[model];
    this.shareNs[model] = shareNs;
  }
}
