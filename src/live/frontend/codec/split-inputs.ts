import { KIB } from '../../../base/units.js';
import { areApart } from '../../parcel.js';
import { freshBytes } from '../paged-bytes.js';
import type { JobResult } from './job-result.js';

/** The inputs of a batch, each with its requests one after the other. */
interface SplitTask {
  readonly inputs: readonly Uint8Array[];
  readonly count: number;
}

/** By request: its inputs, each in a buffer of its own if it is large. */
export type SplitInputs = readonly (readonly Uint8Array[])[];

/** Batches from this size on are cut up in a codec thread: it takes a millisecond and more per MiB. */
const LEAST_BYTES = 256 * KIB;

/** Whether a batch is worth `splitInputs`. */
export function isWorthSplitting({ inputs, count }: SplitTask): boolean {
  if (count === 1) return false;
  let bytes = 0;
  for (const input of inputs) bytes += input.length;
  return (
    bytes >= LEAST_BYTES &&
    areApart(
      inputs.map(({ length }) => ({ bytes: length / count })),
      count,
    )
  );
}

/** Cuts a batch into its requests, so that each can be handed over alone. */
export function splitInputs({ inputs, count }: SplitTask): JobResult<SplitInputs> {
  const transfer: ArrayBuffer[] = [];
  const value = Array.from({ length: count }, (_, nth) =>
    inputs.map((input) => {
      const bytes = input.length / count;
      const own = freshBytes(bytes);
      own.set(input.subarray(nth * bytes, (nth + 1) * bytes));
      transfer.push(own.buffer);
      return own;
    }),
  );
  return { value, transfer };
}
