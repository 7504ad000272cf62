type Numbers = Float64Array | Int32Array | Uint8Array;

/**
 * A copy of a full ring with twice the capacity, whose first entry, at `head`, has moved to index 0. Queues of the hot
 * path keep one array per field and index them with a mask: a wrapper class would cost a call per field.
 */
export function doubled<T extends Numbers>(ring: T, head: number): T {
  const twice = new (ring.constructor as new (length: number) => T)(ring.length * 2);
  twice.set(ring.subarray(head));
  twice.set(ring.subarray(0, head), ring.length - head);
  return twice;
}
