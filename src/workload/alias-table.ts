/**
 * Draws an index with probability proportional to its weight, in constant time and from one uniform number (Walker
 * 1977, built as in Vose 1991). The table is rebuilt in place, so that a source whose weights change every minute
 * allocates nothing.
 */
export class AliasTable {
  private size = 0;
  /** Share of column i that stays i; the rest is `alias[i]`. */
  private readonly keep: Float64Array;
  private readonly alias: Int32Array;
  /** While building: under-full columns from the left, over-full ones from the right. */
  private readonly work: Int32Array;

  constructor(capacity: number) {
    this.keep = new Float64Array(capacity);
    this.alias = new Int32Array(capacity);
    this.work = new Int32Array(capacity);
  }

  /** Builds the table from weights `weights[offset]` to `weights[offset + size - 1]`; at least one must be positive. */
  build(weights: ArrayLike<number>, offset: number, size: number): void {
    const { keep, alias, work } = this;
    let total = 0;
    for (let i = 0; i < size; i++) total += weights[offset + i];
    let small = 0;
    let large = size;
    for (let i = 0; i < size; i++) {
      keep[i] = (weights[offset + i] * size) / total;
      alias[i] = i;
      if (keep[i] < 1) work[small++] = i;
      else work[--large] = i;
    }
    while (small > 0 && large < size) {
      const less = work[--small];
      const more = work[large];
      alias[less] = more;
      keep[more] -= 1 - keep[less];
      if (keep[more] >= 1) continue;
      large++;
      work[small++] = more;
    }
    // The rest differs from 1 by rounding only.
    while (small > 0) keep[work[--small]] = 1;
    this.size = size;
  }

  /** Index drawn for a `uniform` number in [0, 1). */
  pick(uniform: number): number {
    const scaled = uniform * this.size;
    const column = Math.floor(scaled);
    return scaled - column < this.keep[column] ? column : this.alias[column];
  }
}
