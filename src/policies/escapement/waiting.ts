import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import { ONE_CLASS } from '../../core/classes.js';
import type { Cluster } from '../../core/cluster.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { ClassWeights } from './class-weights.js';
import type { Durations } from './durations.js';

/** Weight of a new request in the mean cost of its model's requests. */
const NEW = 0.02;
/** Limit on the lengths of a model that may wait for batches of their own. */
const MOST_OWN = 64;

/** Waiting requests of a model with inputs of several lengths that may share a batch. */
interface Line {
  /** One queue per class, and the number of requests in them. */
  readonly queues: readonly DeadlineQueue[];
  count: number;
  bucket: number;
  /** Length of all of its inputs; 0: any length of the bucket. */
  length: number;
  /** Time that a single GPU needs for them. */
  shareNs: number;
}

/** Waiting requests by model, and their implications for the GPUs that could serve them. */
export class Waiting {
  /** One queue per model and class: element `model * classes + class`. */
  readonly queues: readonly DeadlineQueue[];
  /**
   * By model with inputs of several lengths: a line per bucket instead. If inputs are not padded, lines of single
   * lengths follow, and those of the buckets have requests that run alone.
   */
  private readonly lines: Line[][];
  /** By model: number of its lines; 1: it has one queue. */
  readonly lineCount: Int32Array;
  /** By such a model: mean time per request in full batches over recent arrivals; 0 before the first. */
  readonly costNs: Float64Array;
  readonly classes: number;
  /** Number of requests by model, and by class. */
  readonly count: Int32Array;
  readonly byClass: Int32Array;
  /** Row = GPU: models that are warm there. */
  readonly warm: BitMatrix;
  /** Models with requests. */
  private readonly models: BitSet;
  /** By model with one queue: its first deadline while it has requests; read more often than the queue itself. */
  readonly headNs: Float64Array;
  /** Time that a single GPU needs for all waiting requests, in the largest batches. */
  backlogNs = 0;
  /** By model: SLO of its requests; 0 before the first, NaN if they differ. */
  readonly sloNs: Float64Array;
  private readonly shareNs: Float64Array;
  private requests = 0;

  constructor(
    cluster: Cluster,
    private readonly durations: Durations,
    readonly weights = new ClassWeights(ONE_CLASS),
  ) {
    this.classes = weights.count;
    const queues = cluster.models.length * weights.count;
    this.queues = Array.from({ length: queues }, () => new DeadlineQueue());
    this.count = new Int32Array(cluster.models.length);
    this.byClass = new Int32Array(weights.count);
    this.warm = new BitMatrix(cluster.gpus, cluster.models.length);
    this.models = new BitSet(cluster.models.length);
    this.sloNs = new Float64Array(cluster.models.length);
    this.headNs = new Float64Array(cluster.models.length);
    this.shareNs = new Float64Array(cluster.models.length);
    this.lines = cluster.models.map(() => []);
    this.lineCount = new Int32Array(cluster.models.length);
    this.costNs = new Float64Array(cluster.models.length);
    for (let model = 0; model < cluster.models.length; model++) this.came(model);
  }

  get isEmpty(): boolean {
    return this.requests === 0;
  }

  /** True if a model that is warm on the GPU has requests. */
  isAny(gpu: number): boolean {
    return this.warm.nextCommon(gpu, this.models, 0) >= 0;
  }

  /** Models 32·index … 32·index + 31 that are warm on the GPU and have requests, as the bits of a number. */
  word(gpu: number, index: number): number {
    return this.warm.word(gpu, index) & this.models.word(index);
  }

  /** Number of such words. */
  get words(): number {
    return this.models.words;
  }

  /** Prepares the slot for a new model. */
  came(model: number): void {
    const { durations } = this;
    const buckets = durations.buckets[model];
    this.costNs[model] = 0;
    this.lines[model].length = 0;
    if (buckets > 1 || durations.isUnpadded(model))
      for (let bucket = 0; bucket < buckets; bucket++) this.addLine(model, bucket, 0);
    if (durations.isUnpadded(model)) this.addLine(model, 0, 0);
    this.lineCount[model] = Math.max(1, this.lines[model].length);
  }

  /** Queue of a class in a line. */
  queue(model: number, line: number, requestClass = 0): DeadlineQueue {
    if (this.lineCount[model] === 1) return this.queues[model * this.classes + requestClass];
    return this.lines[model][line].queues[requestClass];
  }

  /** Bucket of a line's requests. */
  bucketOf(model: number, line: number): number {
    return this.lineCount[model] === 1 ? 0 : this.lines[model][line].bucket;
  }

  /** True if the line's requests cannot share a batch, as their lengths may differ. */
  isMixed(model: number, line: number): boolean {
    return line < this.durations.buckets[model] && this.durations.isUnpadded(model);
  }

  /** Line of requests of a bucket: if inputs are not padded, that of their length, if it has one. */
  lineOf(model: number, bucket: number, length: number): number {
    const lines = this.lines[model];
    for (let at = lines.length - 1; at >= this.durations.buckets[model]; at--)
      if (lines[at].length === length && lines[at].count > 0) return at;
    return bucket;
  }

  push(
    slot: number,
    model: number,
    deadlineNs: number,
    sloNs: number,
    requestClass = 0,
    bucket = 0,
    length = 0,
  ): void {
    if (this.sloNs[model] !== sloNs) this.sloNs[model] = this.sloNs[model] === 0 ? sloNs : Number.NaN;
    const line = this.lineCount[model] === 1 ? 0 : this.openLine(model, bucket, length);
    this.queue(model, line, requestClass).push(slot, deadlineNs);
    if (this.lineCount[model] > 1) {
      this.lines[model][line].count++;
      this.learnCost(model, bucket);
    }
    this.requests++;
    this.byClass[requestClass]++;
    if (++this.count[model] === 1) this.models.add(model);
    this.renew(model, line);
  }

  remove(slot: number, model: number, requestClass = 0, bucket = 0, length = 0): void {
    let line = this.lineOf(model, bucket, length);
    if (!this.queue(model, line, requestClass).remove(slot)) {
      // It may have come before its length got a line.
      if (line === bucket || !this.queue(model, bucket, requestClass).remove(slot)) return;
      line = bucket;
    }
    this.left(model, line, requestClass, 1);
  }

  /** Moves `count` requests of a queue, starting at `from`, into `into`, starting at `at`. */
  take(
    model: number,
    from: number,
    count: number,
    into: Int32Array,
    line = 0,
    requestClass = 0,
    at = 0,
  ): void {
    this.queue(model, line, requestClass).take(from, count, into, at);
    this.left(model, line, requestClass, count);
  }

  /** Total value of the model's requests due at `ns` or later. */
  worthFrom(model: number, ns: number): number {
    const { classes, weights } = this;
    let worth = 0;
    for (let line = 0; line < this.lineCount[model]; line++)
      for (let c = 0; c < classes; c++) {
        const queue = this.queue(model, line, c);
        if (queue.length > 0) worth += weights.weight[c] * (queue.length - queue.firstFrom(ns));
      }
    return worth;
  }

  /** Total value of the model's requests. */
  worth(model: number): number {
    const { classes, weights } = this;
    if (classes === 1) return weights.weight[0] * this.count[model];
    let worth = 0;
    for (let line = 0; line < this.lineCount[model]; line++)
      for (let c = 0; c < classes; c++) worth += weights.weight[c] * this.queue(model, line, c).length;
    return worth;
  }

  /** Time that a single GPU needs for the model's requests, in the largest batches. */
  workNs(model: number): number {
    if (this.lineCount[model] === 1) return this.shareNs[model];
    let workNs = 0;
    for (const { shareNs } of this.lines[model]) workNs += shareNs;
    return workNs;
  }

  /** Number of the model's requests certain to precede one of the class due at `deadlineNs`. */
  countBefore(model: number, requestClass: number, deadlineNs: number, bucket = 0, length = 0): number {
    const { classes, weights } = this;
    const line = this.lineOf(model, bucket, length);
    const own = this.queue(model, line, requestClass).countBefore(deadlineNs);
    // A request of a class that is owed its share precedes heavier ones, too.
    if (classes === 1 || weights.isGuaranteed[requestClass] === 1) return own;
    const weight = weights.declared(requestClass);
    let before = own;
    for (let c = 0; c < classes; c++)
      if (c !== requestClass && weights.declared(c) >= weight)
        before += this.queue(model, line, c).countBefore(deadlineNs);
    return before;
  }

  /** Records that the model became warm on the GPU. */
  warmed(gpu: number, model: number): void {
    this.warm.add(gpu, model);
  }

  /** Records that the model is no longer warm on the GPU. */
  cooled(gpu: number, model: number): void {
    this.warm.delete(gpu, model);
  }

  /** Forgets the SLOs of the slot's previous model. */
  forget(model: number): void {
    this.sloNs[model] = 0;
  }

  private left(model: number, line: number, requestClass: number, count: number): void {
    this.requests -= count;
    this.byClass[requestClass] -= count;
    this.count[model] -= count;
    if (this.lineCount[model] > 1) this.lines[model][line].count -= count;
    if (this.count[model] === 0) this.models.delete(model);
    this.renew(model, line);
  }

  private addLine(model: number, bucket: number, length: number): void {
    const queues = Array.from({ length: this.classes }, () => new DeadlineQueue());
    this.lines[model].push({ queues, count: 0, bucket, length, shareNs: 0 });
  }

  /** Line for a new request: one of its length is opened if inputs are not padded and there are not too many. */
  private openLine(model: number, bucket: number, length: number): number {
    const { lines, durations, lineCount } = this;
    const line = this.lineOf(model, bucket, length);
    if (line !== bucket || length === 0 || !durations.isUnpadded(model)) return line;
    const own = lines[model];
    let free = durations.buckets[model];
    while (free < own.length && own[free].count > 0) free++;
    if (free - durations.buckets[model] === MOST_OWN) return bucket;
    if (free === own.length) this.addLine(model, bucket, length);
    own[free].bucket = bucket;
    own[free].length = length;
    lineCount[model] = own.length;
    return free;
  }

  private learnCost(model: number, bucket: number): void {
    const costNs = this.durations.costNs(model, bucket);
    const before = this.costNs[model];
    this.costNs[model] = before === 0 ? costNs : before + NEW * (costNs - before);
  }

  private renew(model: number, line: number): void {
    const { durations } = this;
    const own = this.lineCount[model] > 1 ? this.lines[model][line] : null;
    const row = durations.rowOf(model, own === null ? 0 : own.bucket);
    const last = own !== null && this.isMixed(model, line) ? 0 : durations.usable[model] - 1;
    const waiting = own === null ? this.count[model] : own.count;
    const longest = durations.sizeFor(model, waiting);
    if (own === null && this.classes === 1 && waiting > 0) {
      this.headNs[model] = this.queues[model].deadlineNsAt(0);
      durations.wait(model, waiting, longest);
    }
    const full = Math.floor(waiting / durations.size[row + last]);
    const rest = waiting - full * durations.size[row + last];
    let shareNs = full * durations.execNs[row + last];
    if (rest > 0) shareNs += durations.execNs[row + (full === 0 ? longest : durations.sizeFor(model, rest))];
    // Recomputed, so that rounding errors do not accumulate over a long run.
    const before = own === null ? this.shareNs[model] : own.shareNs;
    this.backlogNs = this.requests === 0 ? 0 : this.backlogNs + shareNs - before;
    if (own === null) this.shareNs[model] = shareNs;
    else own.shareNs = shareNs;
  }
}
