import { bucketCount, bucketOf, type Padding, unmixed } from './lengths.js';
import type { ModelSpec } from './model.js';

/** Where the estimates of each model's INFERs are: a row for each batch size, of each length that a policy tells apart. */
export class ExecRows {
  /** By model: how many lengths a policy tells apart. */
  readonly buckets: Int32Array;
  /** By model: whether it takes inputs of several lengths, 1 or 0. */
  readonly takesLengths: Uint8Array;
  /** By model: its first row, and the first of its longest length. */
  readonly first: Int32Array;
  readonly longest: Int32Array;
  /** All rows there are. */
  count = 0;
  /** By model: rows that are its own. */
  private readonly own: Int32Array;

  constructor(
    private readonly models: readonly ModelSpec[],
    readonly padding: Padding,
  ) {
    this.buckets = new Int32Array(models.length);
    this.takesLengths = new Uint8Array(models.length);
    this.first = new Int32Array(models.length);
    this.longest = new Int32Array(models.length);
    this.own = new Int32Array(models.length);
    for (let model = 0; model < models.length; model++) this.put(model);
  }

  /** A new model as it can be scheduled. */
  scheduled(spec: ModelSpec): ModelSpec {
    return unmixed(spec, this.padding);
  }

  /** Another model is in the slot. Returns how many rows were added, as it needs more than the one before. */
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
    return added;
  }

  /** Row of an INFER that is padded to a bucket: one for all of them where policies do not tell lengths apart. */
  at(model: number, batchIndex: number, bucket: number): number {
    const row = this.longest[model] + batchIndex;
    const buckets = this.buckets[model];
    return buckets === 1 ? row : row - (buckets - 1 - bucket) * this.models[model].batchSizes.length;
  }

  /** The bucket of a request as a policy knows it: 0 where lengths are not told apart. */
  known(model: number, bucket: number): number {
    return this.buckets[model] === 1 ? 0 : bucket;
  }

  /** The bucket that an input of this length is padded to at least. */
  bucketOf(model: number, length: number): number {
    if (this.takesLengths[model] === 0) return 0;
    return bucketOf(this.models[model], this.padding === 'longest' ? 0 : length);
  }
}
