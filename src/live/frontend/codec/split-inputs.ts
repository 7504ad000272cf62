import { KIB } from '../../../base/units.js';
import { freeLarge } from '../../free-buffers.js';
import { areApart } from '../../parcel.js';
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

/** Cuts a batch into its requests, so that each can be handed over alone, and frees the batch. */
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
  freeLarge(inputs);
  return { value, transfer };
}

/** From here on, a buffer gets pages of its own. */
const PAGED_BYTES = 128 * KIB;

/**
 * Memory that goes back to the system as soon as it is freed, in whichever thread that is. Of ordinary buffers below
 * 32 MiB, glibc keeps most: once it has seen a few of a size freed, it takes them from the arena of the thread that asks,
 * where one small thing that lives on keeps all before it. Resizable buffers are pages of their own.
 */
function freshBytes(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes < PAGED_BYTES) return new Uint8Array(bytes);
  // Node's types leave the option out, which came later than the oldest standard that this compiles for.
  const options: object = { maxByteLength: bytes };
  const Resizable = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
  return new Uint8Array(new Resizable(bytes, options), 0, bytes);
}
