import { BitMatrix } from '../../base/bit-matrix.js';
import { ONE_CLASS } from '../../core/classes.js';
import type { Cluster } from '../../core/cluster.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { ClassWeights } from './class-weights.js';
import type { Durations } from './durations.js';

/** Weight of a new request in the mean cost of its model's requests. */
const NEW = 0.02;

/** Waiting requests by model, and their implications for the GPUs that could serve them. */
export class Waiting {
  /** One queue per model and class: element `model * classes + class`. */
  readonly queues: readonly DeadlineQueue[];
  /** For a model with inputs of several lengths: one queue per bucket instead, all of one class, from `first` on. */
  private readonly byBucket: DeadlineQueue[] = [];
  private readonly first: Int32Array;
  /** By model: number of those queues that it owns. */
  private readonly own: Int32Array;
  /** By such a model: mean time per request in full batches over recent arrivals; 0 before the first. */
  readonly costNs: Float64Array;
  readonly classes: number;
  /** Number of requests by model, and by class. */
  readonly count: Int32Array;
  readonly byClass: Int32Array;
  /** Row = GPU: models that are warm there and have requests. */
  readonly byGpu: BitMatrix;
  /**
   * By model with one queue: its first deadline, and the row of the smallest batch that holds its requests, or else of the
   * largest. Only valid while it has requests; read for every choice, more often than the queue itself.
   */
  readonly headNs: Float64Array;
  readonly longestRow: Int32Array;
  /** Time that a single GPU needs for all waiting requests, in the largest batches. */
  backlogNs = 0;
  /** By model: SLO of its requests; 0 before the first, NaN if they differ. */
  readonly sloNs: Float64Array;
  private readonly shareNs: Float64Array;
  /** By bucket queue. */
  private readonly bucketNs: number[] = [];
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
    this.headNs = new Float64Array(cluster.models.length);
    this.longestRow = new Int32Array(cluster.models.length);
    this.shareNs = new Float64Array(cluster.models.length);
    this.first = new Int32Array(cluster.models.length);
    this.own = new Int32Array(cluster.models.length);
    this.costNs = new Float64Array(cluster.models.length);
    for (let model = 0; model < cluster.models.length; model++) this.came(model);
  }

  get isEmpty(): boolean {
    return this.requests === 0;
  }

  /** Prepares the slot for a new model. */
  came(model: number): void {
    const buckets = this.durations.buckets[model];
    this.costNs[model] = 0;
    if (buckets === 1 || buckets <= this.own[model]) return;
    this.first[model] = this.byBucket.length;
    this.own[model] = buckets;
    for (let bucket = 0; bucket < buckets; bucket++) {
      this.byBucket.push(new DeadlineQueue());
      this.bucketNs.push(0);
    }
  }

  /** Queue of a bucket, or of a class where there are several. */
  queue(model: number, bucket: number, requestClass = 0): DeadlineQueue {
    if (this.durations.buckets[model] === 1) return this.queues[model * this.classes + requestClass];
    return this.byBucket[this.first[model] + bucket];
  }

  push(slot: number, model: number, deadlineNs: number, sloNs: number, requestClass = 0, bucket = 0): void {
    if (this.sloNs[model] !== sloNs) this.sloNs[model] = this.sloNs[model] === 0 ? sloNs : Number.NaN;
    this.queue(model, bucket, requestClass).push(slot, deadlineNs);
    this.requests++;
    this.byClass[requestClass]++;
    if (++this.count[model] === 1) {
      const { warm } = this.cluster;
      for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
        this.byGpu.add(gpu, model);
      }
    }
    if (this.durations.buckets[model] > 1) this.learnCost(model, bucket);
    this.renew(model, bucket);
  }

  remove(slot: number, model: number, requestClass = 0, bucket = 0): void {
    if (!this.queue(model, bucket, requestClass).remove(slot)) return;
    this.left(model, requestClass, 1);
    this.shrunk(model, bucket);
  }

  /** Moves `count` requests of a model, or of its bucket, starting at `from` into `into`. */
  take(model: number, from: number, count: number, into: Int32Array, bucket = 0): void {
    this.queue(model, bucket).take(from, count, into);
    this.left(model, 0, count);
    this.shrunk(model, bucket);
  }

  /** Moves requests of each class; `scratch` holds as many. */
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
    this.shrunk(model, 0);
  }

  /** Total value of the model's requests due at `ns` or later. */
  worthFrom(model: number, ns: number): number {
    const { queues, classes, weights, durations } = this;
    let worth = 0;
    if (durations.buckets[model] > 1) {
      for (let bucket = 0; bucket < durations.buckets[model]; bucket++) {
        const queue = this.queue(model, bucket);
        worth += queue.length - queue.firstFrom(ns);
      }
      return weights.weight[0] * worth;
    }
    for (let c = 0, at = model * classes; c < classes; c++, at++) {
      const queue = queues[at];
      if (queue.length > 0) worth += weights.weight[c] * (queue.length - queue.firstFrom(ns));
    }
    return worth;
  }

  /** Total value of the model's requests. */
  worth(model: number): number {
    const { queues, classes, weights } = this;
    if (classes === 1) return weights.weight[0] * this.count[model];
    let worth = 0;
    for (let c = 0, at = model * classes; c < classes; c++, at++)
      worth += weights.weight[c] * queues[at].length;
    return worth;
  }

  /** Time that a single GPU needs for the model's requests, in the largest batches. */
  workNs(model: number): number {
    const buckets = this.durations.buckets[model];
    if (buckets === 1) return this.shareNs[model];
    let workNs = 0;
    for (let bucket = 0; bucket < buckets; bucket++) workNs += this.bucketNs[this.first[model] + bucket];
    return workNs;
  }

  /** Number of the model's requests certain to precede one of the class due at `deadlineNs`. */
  countBefore(model: number, requestClass: number, deadlineNs: number, bucket = 0): number {
    const { queues, classes, weights } = this;
    const first = model * classes;
    const own = this.queue(model, bucket, requestClass).countBefore(deadlineNs);
    // A request of a class that is owed its share precedes heavier ones, too.
    if (classes === 1 || weights.isGuaranteed[requestClass] === 1) return own;
    const weight = weights.declared(requestClass);
    let before = own;
    for (let c = 0; c < classes; c++)
      if (c !== requestClass && weights.declared(c) >= weight)
        before += queues[first + c].countBefore(deadlineNs);
    return before;
  }

  /** Records that the model became warm on the GPU. */
  warmed(gpu: number, model: number): void {
    if (this.count[model] > 0) this.byGpu.add(gpu, model);
  }

  /** Records that the model is no longer warm on the GPU. */
  cooled(gpu: number, model: number): void {
    this.byGpu.delete(gpu, model);
  }

  /** Forgets the SLOs of the slot's previous model. */
  forget(model: number): void {
    this.sloNs[model] = 0;
  }

  private left(model: number, requestClass: number, count: number): void {
    this.requests -= count;
    this.byClass[requestClass] -= count;
    this.count[model] -= count;
  }

  private learnCost(model: number, bucket: number): void {
    const costNs = this.durations.costNs(model, bucket);
    const before = this.costNs[model];
    this.costNs[model] = before === 0 ? costNs : before + NEW * (costNs - before);
  }

  private shrunk(model: number, bucket: number): void {
    if (this.count[model] === 0) {
      const { warm } = this.cluster;
      for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
        this.byGpu.delete(gpu, model);
      }
    }
    this.renew(model, bucket);
  }

  private renew(model: number, bucket: number): void {
    const { durations } = this;
    const hasBuckets = durations.buckets[model] > 1;
    const row = durations.rowOf(model, bucket);
    const last = durations.usable[model] - 1;
    const waiting = hasBuckets ? this.queue(model, bucket).length : this.count[model];
    if (!hasBuckets && this.classes === 1 && waiting > 0) {
      this.headNs[model] = this.queues[model].deadlineNsAt(0);
      this.longestRow[model] = row + durations.sizeFor(model, waiting);
    }
    const full = Math.floor(waiting / durations.size[row + last]);
    const rest = waiting - full * durations.size[row + last];
    let shareNs = full * durations.execNs[row + last];
    if (rest > 0) shareNs += durations.execNs[row + durations.sizeFor(model, rest)];
    // Recomputed, so that rounding errors do not accumulate over a long run.
    const before = hasBuckets ? this.bucketNs[this.first[model] + bucket] : this.shareNs[model];
    this.backlogNs = this.requests === 0 ? 0 : this.backlogNs + shareNs - before;
    if (hasBuckets) this.bucketNs[this.first[model] + bucket] = shareNs;
    else this.shareNs[model] = shareNs;
  }
}
