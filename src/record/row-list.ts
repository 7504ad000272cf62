const INITIAL_ROWS = 1024;

/** Consecutive rows of numbers in a growing array. */
export class RowList {
  count = 0;
  private values: Float64Array<ArrayBuffer>;

  constructor(private readonly columns: number) {
    this.values = new Float64Array(INITIAL_ROWS * columns);
  }

  push(row: ArrayLike<number>): void {
    const { columns } = this;
    const from = this.count * columns;
    if (this.values.length === from) this.grow();
    // A row is short: a loop beats a call of `set`.
    for (let i = 0; i < columns; i++) this.values[from + i] = row[i];
    this.count++;
  }

  get(row: number, column: number): number {
    return this.values[row * this.columns + column];
  }

  set(row: number, column: number, value: number): void {
    this.values[row * this.columns + column] = value;
  }

  /** A copy of the rows from `first` on. */
  from(first: number): Float64Array<ArrayBuffer> {
    return this.values.slice(first * this.columns, this.count * this.columns);
  }

  /** A copy of some rows, in the given order. */
  pick(rows: Iterable<number>, count: number): Float64Array<ArrayBuffer> {
    const { columns, values } = this;
    const picked = new Float64Array(count * columns);
    let at = 0;
    for (const row of rows) {
      picked.set(values.subarray(row * columns, (row + 1) * columns), at);
      at += columns;
    }
    return picked;
  }

  private grow(): void {
    const grown = new Float64Array(this.values.length * 2);
    grown.set(this.values);
    this.values = grown;
  }
}
