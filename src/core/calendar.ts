/**
 * Minimum of one time per row, for a fixed number of rows, such as the time at which each lane becomes bookable. A
 * winner tree: setting a time costs the depth of the tree, reading the earliest is free.
 */
export class Calendar {
  private readonly leaves: number;
  /** Node i has children 2i and 2i+1; the leaf of row r is `leaves + r`. */
  private readonly times: Float64Array;

  constructor(rows: number) {
    let leaves = 1;
    while (leaves < rows) leaves *= 2;
    this.leaves = leaves;
    this.times = new Float64Array(leaves * 2).fill(Number.POSITIVE_INFINITY);
  }

  /** Earliest time of all rows, Infinity when none is set. */
  get nextNs(): number {
    return this.times[1];
  }

  get(row: number): number {
    return this.times[this.leaves + row];
  }

  /** Sets a row's time; Infinity clears the row. */
  set(row: number, timeNs: number): void {
    const { times } = this;
    let node = this.leaves + row;
    times[node] = timeNs;
    while (node > 1) {
      const least = Math.min(times[node], times[node ^ 1]);
      node >>= 1;
      if (times[node] === least) return;
      times[node] = least;
    }
  }

  /** The smallest row whose time is ≤ `nowNs`, or −1. */
  due(nowNs: number): number {
    const { times, leaves } = this;
    if (times[1] > nowNs) return -1;
    let node = 1;
    while (node < leaves) {
      node *= 2;
      if (times[node] > nowNs) node++;
    }
    return node - leaves;
  }
}
