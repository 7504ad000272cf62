/** The buffers that the views fill alone or share only among themselves: those can move to another thread. */
export function ownBuffers(views: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of views) if (buffer.byteLength >= LEAST_BYTES) buffers.add(buffer as ArrayBuffer);
  return [...buffers];
}

/** Smaller ones may lie in a pool that others share, and are copied as fast. */
const LEAST_BYTES = 16 * 1024;
