/** Ratio of neighbouring buckets: percentiles are off by at most half of this. */
const STEP = 1.0001;
const LOG_STEP = Math.log(STEP);

/** Mean, largest and percentiles of durations, in memory that follows how much they differ, not their number. */
export class Latencies {
  count = 0;
  private sumNs = 0;
  private maxNs = 0;
  private minNs = Number.POSITIVE_INFINITY;
  /** Counts by the logarithm of the duration. */
  private readonly buckets = new Map<number, number>();
  /** Their logarithms in order; null: there are new ones. */
  private ascending: readonly number[] | null = null;

  add(ns: number): void {
    this.addTo(ns <= 1 ? 0 : Math.round(Math.log(ns) / LOG_STEP), 1);
    this.count++;
    this.sumNs += ns;
    this.maxNs = Math.max(this.maxNs, ns);
    this.minNs = Math.min(this.minNs, ns);
  }

  /** Adds all that `other` has. */
  addAll(other: Latencies): void {
    for (const [bucket, count] of other.buckets) this.addTo(bucket, count);
    this.count += other.count;
    this.sumNs += other.sumNs;
    this.maxNs = Math.max(this.maxNs, other.maxNs);
    this.minNs = Math.min(this.minNs, other.minNs);
  }

  /** null when empty, as the others. */
  get meanNs(): number | null {
    return this.count === 0 ? null : this.sumNs / this.count;
  }

  get largestNs(): number | null {
    return this.count === 0 ? null : this.maxNs;
  }

  /**
   * The smallest duration such that at least that share (0 to 1) of `all` is not above it, where those of them that
   * were not added never end; null where that is none of those that were added.
   */
  quantileNs(share: number, all: number): number | null {
    // 0.999 × 1000 is a little above 999.
    const rank = Math.max(1, Math.ceil(share * all * (1 - 1e-12)));
    if (rank > this.count) return null;
    this.ascending ??= [...this.buckets.keys()].sort((a, b) => a - b);
    let seen = 0;
    const bucket = this.ascending.find((one) => {
      seen += this.buckets.get(one) ?? 0;
      return seen >= rank;
    });
    return Math.min(Math.max(Math.exp((bucket ?? 0) * LOG_STEP), this.minNs), this.maxNs);
  }

  private addTo(bucket: number, count: number): void {
    const before = this.buckets.get(bucket);
    if (before === undefined) this.ascending = null;
    this.buckets.set(bucket, (before ?? 0) + count);
  }
}
