/** Returns a longer copy of the array, with zeros at the end. */
export function grown<T extends Float64Array | Int32Array | Uint8Array>(from: T, length: number): T {
  const to = new (from.constructor as new (length: number) => T)(length);
  to.set(from);
  return to;
}

/** Column that grows by doubling while an unknown number of rows is read. */
export class Column<T extends Float64Array | Int32Array> {
  /** The rows, and room for more. */
  values: T;
  length = 0;

  constructor(make: new (length: number) => T) {
    this.values = new make(1 << 12);
  }

  push(value: number): void {
    if (this.length === this.values.length) this.values = grown(this.values, this.length * 2);
    this.values[this.length++] = value;
  }

  /** The rows alone. */
  finish(): T {
    return this.values.slice(0, this.length) as T;
  }
}
