import type { Cluster } from '../../core/cluster.js';
import { timesOfBucket } from '../../core/lengths.js';
import { timesOn } from '../../core/model.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

/** Weight of a new measurement. */
const NEW = 0.1;
/** Cap on a measurement, as a multiple of the expectation: stragglers count as no longer than that. */
const MOST_LONGER = 1.5;

/**
 * Mean time of each model's INFERs by batch size, and by padded length if known: initially from the profile, then
 * measured, at nominal clock. Means suffice, because lanes are booked with sums of many; the margin covers the error.
 */
export class Durations {
  /** First row of each model; rows of its batch sizes follow, bucket by bucket. */
  readonly row: Int32Array;
  /** By model: number of buckets, and rows of each. */
  readonly buckets: Int32Array;
  private readonly sizes: Int32Array;
  /** By row: time, and its natural logarithm. */
  execNs: Float64Array;
  logExec: Float64Array;
  /** By row: maximum of time, and of ln(batch size / time), over the sizes of its bucket up to its own. */
  private mostNs: Float64Array;
  private mostDense: Float64Array;
  /**
   * By model: limits of time, and of ln(requests / time), of the batches that its waiting requests can form; Infinity if
   * they are in several queues.
   */
  readonly limitNs: Float64Array;
  readonly limitDense: Float64Array;
  /** By model with one queue: number of its requests, and the row of the smallest batch that holds them, or the largest. */
  private readonly waits: Int32Array;
  private readonly longest: Int32Array;
  /** By number of requests: natural logarithm. */
  readonly logCount: Float64Array;
  private profileNs: Float64Array;
  private logSize: Float64Array;
  /** Batch size of each row; by model, number of usable sizes. */
  size: Int32Array;
  readonly usable: Int32Array;
  /** By model: number of rows it owns. */
  private readonly rows: Int32Array;
  /** By kind, with the same rows, if there are several kinds; this object then covers all. */
  private readonly kinds: readonly Durations[];

  constructor(
    private readonly cluster: Cluster,
    private readonly maxBatch: number,
    /** Kind of these GPUs; null: all kinds, with the profiles of the first. */
    private readonly kind: number | null = null,
  ) {
    const { models } = cluster;
    this.row = new Int32Array(models.length);
    this.limitNs = new Float64Array(models.length);
    this.limitDense = new Float64Array(models.length);
    this.waits = new Int32Array(models.length);
    this.longest = new Int32Array(models.length);
    this.logCount = Float64Array.from({ length: cluster.maxBatch + 1 }, (_, count) => Math.log(count));
    this.usable = usableSizes(models, maxBatch);
    this.buckets = cluster.rows.buckets;
    this.sizes = Int32Array.from(models, ({ batchSizes }) => batchSizes.length);
    this.rows = this.sizes.map((sizes, m) => sizes * this.buckets[m]);
    let rows = 0;
    for (let m = 0; m < models.length; m++) {
      this.row[m] = rows;
      rows += this.rows[m];
    }
    this.execNs = new Float64Array(rows);
    this.profileNs = new Float64Array(rows);
    this.logExec = new Float64Array(rows);
    this.mostNs = new Float64Array(rows);
    this.mostDense = new Float64Array(rows);
    this.size = new Int32Array(rows);
    this.logSize = new Float64Array(rows);
    for (let m = 0; m < models.length; m++) this.fill(m);
    const several = kind === null && cluster.kinds > 1 ? cluster.kinds : 0;
    this.kinds = Array.from({ length: several }, (_, each) => new Durations(cluster, maxBatch, each));
  }

  /** Durations on the GPU's kind. */
  of(gpu: number): Durations {
    return this.kinds.length === 0 ? this : this.kinds[this.cluster.kindOf[gpu]];
  }

  /** Resets the rows for a new model in the slot. */
  came(model: number): void {
    const spec = this.cluster.models[model];
    this.waits[model] = 0;
    this.sizes[model] = spec.batchSizes.length;
    const rows = this.sizes[model] * this.buckets[model];
    this.usable[model] = usableSizesOf(spec, this.maxBatch);
    if (rows > this.rows[model]) {
      this.row[model] = this.size.length;
      this.rows[model] = rows;
      const all = this.size.length + rows;
      this.execNs = longer(this.execNs, new Float64Array(all));
      this.logExec = longer(this.logExec, new Float64Array(all));
      this.mostNs = longer(this.mostNs, new Float64Array(all));
      this.mostDense = longer(this.mostDense, new Float64Array(all));
      this.profileNs = longer(this.profileNs, new Float64Array(all));
      this.size = longer(this.size, new Int32Array(all));
      this.logSize = longer(this.logSize, new Float64Array(all));
    }
    this.fill(model);
    for (const kind of this.kinds) kind.came(model);
  }

  /** First row of a bucket. */
  rowOf(model: number, bucket: number): number {
    return this.row[model] + bucket * this.sizes[model];
  }

  /** True if the model's inputs are not padded, so that a batch has inputs of one length. */
  isUnpadded(model: number): boolean {
    const { models, rows } = this.cluster;
    return models[model].equalLengths === true && rows.padding === 'bucket';
  }

  /** Time of one request in a full batch of its bucket. */
  costNs(model: number, bucket: number): number {
    const largest = this.rowOf(model, bucket) + this.usable[model] - 1;
    return this.execNs[largest] / this.size[largest];
  }

  /** Expected time of an INFER on a GPU at its current clock. */
  on(gpu: number, row: number): number {
    return this.of(gpu).execNs[row] / this.cluster.clock[gpu];
  }

  /** Shortest time of any batch of a bucket, on the fastest kind for the model. */
  shortestNs(model: number, bucket = 0): number {
    if (this.kinds.length > 0) return this.cluster.nominalExecNsAt(model, 0, bucket);
    return this.execNs[this.rowOf(model, bucket)];
  }

  /** Index of the smallest usable size that holds `count` requests; the largest one if none does. */
  sizeFor(model: number, count: number): number {
    const row = this.row[model];
    const last = this.usable[model] - 1;
    let index = 0;
    while (index < last && this.size[row + index] < count) index++;
    return index;
  }

  /** Records that `count` requests of a model with one queue wait; `index`: `sizeFor` them. */
  wait(model: number, count: number, index: number): void {
    this.waits[model] = count;
    this.longest[model] = this.row[model] + index;
    this.findLimits(model);
    for (const kind of this.kinds) kind.wait(model, count, index);
  }

  measured(
    gpu: number,
    model: number,
    batchIndex: number,
    durationNs: number,
    clock: number,
    bucket = 0,
  ): void {
    const row = this.rowOf(model, bucket) + batchIndex;
    this.learn(model, row, durationNs, clock);
    if (this.kinds.length > 0) this.of(gpu).learn(model, row, durationNs, clock);
  }

  private learn(model: number, row: number, durationNs: number, clock: number): void {
    const before = this.execNs[row];
    const nominal = Math.min(durationNs * clock, MOST_LONGER * before);
    if (nominal === before) return;
    this.set(row, before + NEW * (nominal - before));
    this.findMost(model);
  }

  /** Resets to the profiles. */
  forget(): void {
    for (let row = 0; row < this.execNs.length; row++) this.set(row, this.profileNs[row]);
    for (let model = 0; model < this.row.length; model++) this.findMost(model);
    for (const kind of this.kinds) kind.forget();
  }

  private fill(model: number): void {
    const spec = this.cluster.models[model];
    const times = timesOn(spec, this.kind ?? 0);
    const buckets = this.buckets[model];
    for (let bucket = 0; bucket < buckets; bucket++) {
      const execNs = buckets === 1 ? times.execNs : timesOfBucket(times, bucket);
      for (let b = 0; b < execNs.length; b++) {
        const row = this.rowOf(model, bucket) + b;
        this.size[row] = spec.batchSizes[b];
        this.logSize[row] = Math.log(spec.batchSizes[b]);
        this.profileNs[row] = execNs[b];
        this.set(row, execNs[b]);
      }
    }
    this.findMost(model);
  }

  private findMost(model: number): void {
    for (let bucket = 0; bucket < this.buckets[model]; bucket++) {
      const first = this.rowOf(model, bucket);
      let mostNs = 0;
      let mostDense = Number.NEGATIVE_INFINITY;
      for (let row = first; row < first + this.sizes[model]; row++) {
        mostNs = Math.max(mostNs, this.execNs[row]);
        mostDense = Math.max(mostDense, this.logSize[row] - this.logExec[row]);
        this.mostNs[row] = mostNs;
        this.mostDense[row] = mostDense;
      }
    }
    this.findLimits(model);
  }

  /** Renews the limits: of these batches, only the longest may not be full. */
  private findLimits(model: number): void {
    const { mostDense } = this;
    const longest = this.longest[model];
    const waits = this.waits[model];
    this.limitNs[model] = this.mostNs[longest];
    if (waits === 0) this.limitDense[model] = Number.POSITIVE_INFINITY;
    else if (waits >= this.size[longest] || longest === this.row[model])
      this.limitDense[model] = mostDense[longest];
    else {
      const dense = this.logCount[waits] - this.logExec[longest];
      this.limitDense[model] = Math.max(mostDense[longest - 1], dense);
    }
  }

  private set(row: number, execNs: number): void {
    this.execNs[row] = execNs;
    this.logExec[row] = Math.log(execNs);
  }
}

function longer<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
