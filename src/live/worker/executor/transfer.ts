/** Bytes that share their memory with nothing else: whole buffers as they are, parts of a buffer as copies. */
export function ownBytes(parts: readonly Uint8Array<ArrayBuffer>[]): readonly Uint8Array<ArrayBuffer>[] {
  return parts.map((part) => (isWhole(part) ? part : new Uint8Array(part)));
}

/** The buffers to hand over to another thread, instead of copying them. They must be whole. */
export function buffersOf(messages: readonly (readonly Uint8Array<ArrayBuffer>[])[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const parts of messages) {
    // An empty buffer may be one that was handed over before, which cannot be done twice.
    for (const part of parts) if (part.byteLength > 0) buffers.add(part.buffer);
  }
  return [...buffers];
}

function isWhole(part: Uint8Array): boolean {
  return part.byteLength === part.buffer.byteLength;
}
