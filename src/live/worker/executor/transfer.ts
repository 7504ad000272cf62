import { LARGE_BYTES } from '../../parcel.js';

/**
 * Bytes that can be moved to another thread: large ones with their buffer, and the small ones as copies in one shared
 * buffer.
 */
export function movable(parts: readonly Uint8Array<ArrayBuffer>[]): readonly Uint8Array<ArrayBuffer>[] {
  let bytes = 0;
  for (const { length } of parts) if (length <= LARGE_BYTES) bytes += aligned(length);
  // Not empty: a buffer without bytes is taken for one that was moved.
  const small = new Uint8Array(Math.max(bytes, ALIGNMENT));
  let at = 0;
  return parts.map((part) => {
    if (part.length > LARGE_BYTES) return part;
    const copy = small.subarray(at, at + part.length);
    copy.set(part);
    at += aligned(part.length);
    return copy;
  });
}

/** True if any of them is moved, not copied. */
export function anyLarge(parts: readonly Uint8Array[]): boolean {
  for (let i = 0; i < parts.length; i++) if (parts[i].length > LARGE_BYTES) return true;
  return false;
}

/** Suffices for elements of any type. */
const ALIGNMENT = 8;

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** Buffers to move to another thread, instead of copying them. They must be whole. */
export function buffersOf(messages: readonly (readonly Uint8Array<ArrayBuffer>[])[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const parts of messages) {
    // An empty buffer may have been moved before, which cannot be done twice.
    for (const part of parts) if (part.byteLength > 0) buffers.add(part.buffer);
  }
  return [...buffers];
}
