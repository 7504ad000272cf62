/** Latest rows of a run by ascending id: a row replaces the one `capacity` ids before it, so memory is fixed. */
export class RowRing {
  private readonly values: Float64Array;

  constructor(
    private readonly columns: number,
    private readonly capacity: number,
  ) {
    this.values = new Float64Array(columns * capacity).fill(Number.NaN);
  }

  /** Adds a row, or replaces the one with its id. */
  put(row: ArrayLike<number>): void {
    this.values.set(row, this.placeOf(row[0]));
  }

  /** Row with an id, to read and write; null if no longer there. */
  row(id: number): Float64Array | null {
    const at = this.placeOf(id);
    return this.values[at] === id ? this.values.subarray(at, at + this.columns) : null;
  }

  /** A copy of all rows, in order of id. */
  all(): Float64Array<ArrayBuffer> {
    const { values, columns } = this;
    const ids: number[] = [];
    for (let at = 0; at < values.length; at += columns) if (!Number.isNaN(values[at])) ids.push(values[at]);
    return this.pick(ids.sort((a, b) => a - b));
  }

  /** A copy of the rows with these ids, except those no longer there. */
  pick(ids: readonly number[]): Float64Array<ArrayBuffer> {
    const rows = ids.map((id) => this.row(id)).filter((row) => row !== null);
    const picked = new Float64Array(rows.length * this.columns);
    for (const [i, row] of rows.entries()) picked.set(row, i * this.columns);
    return picked;
  }

  private placeOf(id: number): number {
    return (id % this.capacity) * this.columns;
  }
}
