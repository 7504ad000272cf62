/** The last measurements of one thing, and quantiles of them. */
export class SampleWindow {
  private readonly samples: Float64Array;
  private readonly sorted: Float64Array;
  private next = 0;
  private count = 0;
  private isSorted = false;

  constructor(capacity: number) {
    this.samples = new Float64Array(capacity);
    this.sorted = new Float64Array(capacity);
  }

  /** How many there are. */
  get size(): number {
    return this.count;
  }

  /** Adds a measurement; the oldest falls out of a full window. */
  add(value: number): void {
    this.samples[this.next] = value;
    this.next = this.next + 1 === this.samples.length ? 0 : this.next + 1;
    if (this.count < this.samples.length) this.count++;
    this.isSorted = false;
  }

  /** Forgets all of them. */
  clear(): void {
    this.next = 0;
    this.count = 0;
  }

  /** The value that `share` (0 to 1) of the measurements do not exceed; 0 while there are none. */
  quantile(share: number): number {
    if (this.count === 0) return 0;
    return this.rank(Math.min(this.count - 1, Math.ceil(share * this.count) - 1));
  }

  /** The measurement with `rank` smaller ones before it, 0 to `size` − 1. */
  rank(rank: number): number {
    if (!this.isSorted) {
      const { sorted, samples, count } = this;
      for (let i = 0; i < count; i++) sorted[i] = samples[i];
      sorted.subarray(0, count).sort();
      this.isSorted = true;
    }
    return this.sorted[Math.max(0, rank)];
  }
}
