import { grown } from '../base/grown.js';
import { bucketCount, bucketOf, type Padding, unmixed } from './lengths.js';
import type { ModelSpec } from './model.js';

/** Layout of the estimate rows of each model's INFERs: one per batch size and length the policy distinguishes. */
export class ExecRows {
  /** By model: number of lengths that the policy distinguishes. */
  buckets: Int32Array;
  /** By model: 1 if it takes inputs of several lengths, else 0. */
  takesLengths: Uint8Array;
  /** By model: its first row, and the first of its longest length. */
  first: Int32Array;
  longest: Int32Array;
  /** By model: its largest batch size. */
  largestBatch: Int32Array;
  /** Total number of rows. */
  count = 0;
  /** By model: number of rows it owns. */
  private own: Int32Array;

  constructor(
    private readonly models: readonly ModelSpec[],
    readonly padding: Padding,
  ) {
    this.buckets = new Int32Array(models.length);
    this.takesLengths = new Uint8Array(models.length);
    this.first = new Int32Array(models.length);
    this.longest = new Int32Array(models.length);
    this.largestBatch = new Int32Array(models.length);
    this.own = new Int32Array(models.length);
    for (let model = 0; model < models.length; model++) this.put(model);
  }

  /** Lays out models appended to the list. Returns the number of rows added. */
  grow(): number {
    const { models, count } = this;
    const before = this.own.length;
    this.buckets = grown(this.buckets, models.length);
    this.takesLengths = grown(this.takesLengths, models.length);
    this.first = grown(this.first, models.length);
    this.longest = grown(this.longest, models.length);
    this.largestBatch = grown(this.largestBatch, models.length);
    this.own = grown(this.own, models.length);
    for (let model = before; model < models.length; model++) this.put(model);
    return this.count - count;
  }

  /** Returns a new model in schedulable form. */
  scheduled(spec: ModelSpec): ModelSpec {
    return unmixed(spec, this.padding);
  }

  /** Assigns rows to a new model in the slot. Returns the number of rows added, if it needs more than the last. */
  put(model: number): number {
    const spec = this.models[model];
    const sizes = spec.batchSizes.length;
    this.takesLengths[model] = spec.lengths === undefined ? 0 : 1;
    this.buckets[model] = this.padding === 'bucket' ? bucketCount(spec) : 1;
    const rows = sizes * this.buckets[model];
    const added = rows > this.own[model] ? rows : 0;
    if (added > 0) {
      this.first[model] = this.count;
      this.own[model] = rows;
      this.count += rows;
    }
    this.longest[model] = this.first[model] + rows - sizes;
    this.largestBatch[model] = spec.batchSizes[sizes - 1];
    return added;
  }

  /** Row of an INFER padded to a bucket; shared by all buckets if the policy does not distinguish lengths. */
  at(model: number, batchIndex: number, bucket: number): number {
    const row = this.longest[model] + batchIndex;
    const buckets = this.buckets[model];
    return buckets === 1 ? row : row - (buckets - 1 - bucket) * this.models[model].batchSizes.length;
  }

  /** Bucket of a request as the policy knows it: 0 if lengths are not distinguished. */
  known(model: number, bucket: number): number {
    return this.buckets[model] === 1 ? 0 : bucket;
  }

  /** Smallest bucket that holds an input of this length. */
  bucketOf(model: number, length: number): number {
    if (this.takesLengths[model] === 0) return 0;
    return bucketOf(this.models[model], this.padding === 'longest' ? 0 : length);
  }
}
