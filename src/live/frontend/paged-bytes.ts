import { KIB } from '../../base/units.js';

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
