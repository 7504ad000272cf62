/** Ratio of neighbouring buckets: percentiles are off by at most half a step. */
const STEP = 1.0001;
const LOG_STEP = Math.log(STEP);

/** Mean, maximum and percentiles of durations, in memory that grows with their spread, not their number. */
export class Latencies {
  count = 0;
  private sumNs = 0;
  private maxNs = 0;
  private minNs = Number.POSITIVE_INFINITY;
  /** Counts by the logarithm of the duration. */
  private readonly buckets = new Map<number, number>();
  /** Sorted logarithms; null after a change. */
  private ascending: readonly number[] | null = null;

  add(ns: number): void {
    this.addTo(ns <= 1 ? 0 : Math.round(Math.log(ns) / LOG_STEP), 1);
    this.count++;
    this.sumNs += ns;
    this.maxNs = Math.max(this.maxNs, ns);
    this.minNs = Math.min(this.minNs, ns);
  }

  /** Adds all of `other`'s durations. */
  addAll(other: Latencies): void {
    for (const [bucket, count] of other.buckets) this.addTo(bucket, count);
    this.count += other.count;
    this.sumNs += other.sumNs;
    this.maxNs = Math.max(this.maxNs, other.maxNs);
    this.minNs = Math.min(this.minNs, other.minNs);
  }

  /** null when empty, like the others. */
  get meanNs(): number | null {
    return this.count === 0 ? null : this.sumNs / this.count;
  }

  get largestNs(): number | null {
    return this.count === 0 ? null : this.maxNs;
  }

  /**
   * Smallest duration that at least this share (0 to 1) of `all` does not exceed, if those not added never end; null if
   * it is none of those added.
   */
  quantileNs(share: number, all: number): number | null {
    // 0.999 × 1000 is slightly above 999.
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
