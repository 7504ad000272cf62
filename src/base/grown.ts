/** Returns a longer copy of the array, with zeros at the end. */
export function grown<T extends Float64Array | Int32Array | Uint8Array>(from: T, length: number): T {
  const to = new (from.constructor as new (length: number) => T)(length);
  to.set(from);
  return to;
}
