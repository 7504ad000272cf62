import type { ModelSpec, ModelTimes } from './model.js';

/**
 * Ways to batch inputs of different lengths. A batch has one of the lengths of its model's profile, a *bucket*, to
 * which all of its inputs are padded. If a model's inputs are not padded, the bucket only tells how long they take.
 *
 * `bucket`: that of its longest input; the policy knows the bucket of every request, and the time of a batch of each.
 * `batch`: also that of its longest input, but the policy does not know lengths and expects the recent time of batches
 * of the same size. `longest`: every batch is padded to the longest length of the profile.
 */
export const PADDINGS = ['bucket', 'batch', 'longest'] as const;
export type Padding = (typeof PADDINGS)[number];

/** Number of the model's buckets: 1 if all inputs have one length. */
export function bucketCount({ lengths }: ModelSpec): number {
  return lengths === undefined ? 1 : lengths.length;
}

/** Bucket of an input: the first that holds it, or the last if the length is unknown (0). */
export function bucketOf({ lengths }: ModelSpec, length: number): number {
  if (lengths === undefined) return 0;
  const last = lengths.length - 1;
  if (length === 0) return last;
  let bucket = 0;
  while (bucket < last && lengths[bucket] < length) bucket++;
  return bucket;
}

/** Time of each batch size when inputs are padded to a bucket. */
export function timesOfBucket({ execNs, execNsByLength }: ModelTimes, bucket: number): readonly number[] {
  return execNsByLength === undefined ? execNs : execNsByLength[bucket];
}

/** Longest input that the model takes; Infinity: lengths are ignored. */
export function longestInput({ lengths }: ModelSpec): number {
  return lengths === undefined ? Number.POSITIVE_INFINITY : lengths[lengths.length - 1];
}

/**
 * Returns the model in schedulable form: where inputs cannot be padded, a policy that does not batch by length would
 * mix lengths, so the model runs one request at a time.
 */
export function unmixed(spec: ModelSpec, padding: Padding = 'batch'): ModelSpec {
  if (spec.equalLengths !== true || padding === 'bucket') return spec;
  const first = (times: ModelTimes) => ({
    loadNs: times.loadNs,
    execNs: times.execNs.slice(0, 1),
    ...(times.execNsByLength && { execNsByLength: times.execNsByLength.map((row) => row.slice(0, 1)) }),
  });
  const { otherKinds } = spec;
  return {
    ...spec,
    ...first(spec),
    batchSizes: spec.batchSizes.slice(0, 1),
    ...(otherKinds && { otherKinds: otherKinds.map(first) }),
  };
}

/** Returns the model's execution times, each mapped by the same function. */
export function mapExecNs(
  { execNs, execNsByLength }: ModelTimes,
  change: (ns: number) => number,
): Pick<ModelTimes, 'execNs' | 'execNsByLength'> {
  return {
    execNs: execNs.map(change),
    ...(execNsByLength === undefined ? {} : { execNsByLength: execNsByLength.map((row) => row.map(change)) }),
  };
}

/** Returns the model as if all inputs had its longest length. */
export function withoutLengths({
  lengths: _,
  execNsByLength: __,
  equalLengths: ___,
  ...spec
}: ModelSpec): ModelSpec {
  return spec;
}
