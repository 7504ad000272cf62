import type { ModelSpec, ModelTimes } from './model.js';

/**
 * How inputs of different lengths share a batch. A batch has one of the lengths of its model's profile, a *bucket*, to which
 * all of its inputs are padded.
 *
 * `bucket`: that of its longest input; the policy knows the bucket of every request, and what a batch of each takes.
 * `batch`: the same, but the policy does not know lengths: it expects of a batch what those of its size took of late.
 * `longest`: every batch is padded to the longest length of the profile.
 */
export const PADDINGS = ['bucket', 'batch', 'longest'] as const;
export type Padding = (typeof PADDINGS)[number];

/** How many buckets the model has: 1 where all inputs have one length. */
export function bucketCount({ lengths }: ModelSpec): number {
  return lengths === undefined ? 1 : lengths.length;
}

/** The bucket of an input: the first that holds it, or the last where the length is not known (0). */
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

/** The longest input that the model takes; Infinity: its length is not looked at. */
export function longestInput({ lengths }: ModelSpec): number {
  return lengths === undefined ? Number.POSITIVE_INFINITY : lengths[lengths.length - 1];
}

/**
 * The model as it can be scheduled: where inputs cannot be padded, a policy that does not batch by length would mix lengths, so it
 * runs one request at a time.
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

/** The execution times of a model, each changed in the same way. */
export function mapExecNs(
  { execNs, execNsByLength }: ModelTimes,
  change: (ns: number) => number,
): Pick<ModelTimes, 'execNs' | 'execNsByLength'> {
  return {
    execNs: execNs.map(change),
    ...(execNsByLength === undefined ? {} : { execNsByLength: execNsByLength.map((row) => row.map(change)) }),
  };
}

/** The model as one all of whose inputs are as long as its longest. */
export function withoutLengths({
  lengths: _,
  execNsByLength: __,
  equalLengths: ___,
  ...spec
}: ModelSpec): ModelSpec {
  return spec;
}
