import { KIB, MIB } from '../../base/units.js';

/** From here on, a buffer gets pages of its own. */
const PAGED_BYTES = 128 * KIB;

/**
 * Memory that goes back to the system as soon as it is freed, in whichever thread that is, and that takes none before it is
 * written. Of ordinary buffers below 32 MiB, glibc keeps most: once it has seen a few of a size freed, it takes them from the
 * arena of the thread that asks, where one small thing that lives on keeps all before it. Resizable buffers are pages of
 * their own.
 */
export function freshBytes(bytes: number): Buffer<ArrayBuffer> {
  if (bytes < PAGED_BYTES) return Buffer.allocUnsafeSlow(bytes);
  // Node's types leave the option out, which came later than the oldest standard that this compiles for.
  const options: object = { maxByteLength: bytes };
  const Resizable = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
  return Buffer.from(new Resizable(bytes, options), 0, bytes);
}

const SCRATCH_BYTES = 4 * MIB;
let scratch: Uint8Array | null = null;

/**
 * The same bytes where reading them one by one is fast, until the next call: V8 takes half as long again for each element of a
 * resizable buffer. More than 4 MiB stay where they are, so that a thread keeps no more.
 */
export function fixedBytes(bytes: Uint8Array): Uint8Array {
  const { length, buffer } = bytes;
  if (length > SCRATCH_BYTES || !(buffer as { resizable?: boolean }).resizable) return bytes;
  // Takes memory where it is written.
  scratch ??= new Uint8Array(SCRATCH_BYTES);
  scratch.set(bytes);
  return scratch.subarray(0, length);
}
