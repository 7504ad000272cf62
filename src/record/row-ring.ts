/**
 * The latest rows of a run whose first column is an id that ascends: a row takes the place of the one `capacity` ids before
 * it, so the memory is fixed.
 */
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

  /** The row with an id, to read and to write; null: it is not there any more. */
  row(id: number): Float64Array | null {
    const at = this.placeOf(id);
    return this.values[at] === id ? this.values.subarray(at, at + this.columns) : null;
  }

  /** A copy of all rows, in the order of their ids. */
  all(): Float64Array<ArrayBuffer> {
    const { values, columns } = this;
    const ids: number[] = [];
    for (let at = 0; at < values.length; at += columns) if (!Number.isNaN(values[at])) ids.push(values[at]);
    return this.pick(ids.sort((a, b) => a - b));
  }

  /** A copy of the rows with these ids; what is not there any more is left out. */
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
