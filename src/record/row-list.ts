const INITIAL_ROWS = 1024;

/** Consecutive rows of numbers in a growing array. */
export class RowList {
  count = 0;
  values: Float64Array<ArrayBuffer>;

  constructor(private readonly columns: number) {
    this.values = new Float64Array(INITIAL_ROWS * columns);
  }

  /** Adds a row to be filled in; returns its first index in `values`. */
  append(): number {
    const from = this.count++ * this.columns;
    if (this.values.length === from) this.grow();
    return from;
  }

  push(row: ArrayLike<number>): void {
    const from = this.append();
    const { columns, values } = this;
    // A row is short: a loop beats a call of `set`.
    for (let i = 0; i < columns; i++) values[from + i] = row[i];
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

/** Latest rows of a run by ascending id: a row replaces the one `capacity` ids before it, so memory is fixed. */
export class RowRing {
  private readonly values: Float64Array;
  /** By place: number of the change that wrote it. */
  private readonly marks: Float64Array;

  constructor(
    private readonly columns: number,
    private readonly capacity: number,
  ) {
    this.values = new Float64Array(columns * capacity).fill(Number.NaN);
    this.marks = new Float64Array(capacity);
  }

  /** Adds a row, or replaces the one with its id. `mark`: number of the change, which grows. */
  put(row: ArrayLike<number>, mark = 0): void {
    const at = this.placeOf(row[0]);
    this.values.set(row, at);
    this.marks[at / this.columns] = mark;
  }

  /** Row with an id, to read and write; null if no longer there. */
  row(id: number): Float64Array | null {
    const at = this.placeOf(id);
    return this.values[at] === id ? this.values.subarray(at, at + this.columns) : null;
  }

  /** Copies of the rows that changed after `mark`, at most the `most` latest, in order of id. */
  since(mark: number, most = Number.POSITIVE_INFINITY): Float64Array[] {
    const { values, columns, marks } = this;
    const changed: number[] = [];
    for (let place = 0; place < marks.length; place++)
      if (marks[place] > mark && !Number.isNaN(values[place * columns])) changed.push(place * columns);
    changed.sort((a, b) => values[a] - values[b]);
    return changed.slice(-most).map((at) => values.slice(at, at + columns));
  }

  private placeOf(id: number): number {
    return (id % this.capacity) * this.columns;
  }
}

/** Rows one after another in an array of their own. */
export function joinedRows(rows: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const all = new Float64Array(rows.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const row of rows) {
    all.set(row, at);
    at += row.length;
  }
  return all;
}
