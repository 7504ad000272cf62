/**
 * Means of many series in which a sample counts the less the older it is: after one time constant 1/e, about a third,
 * of what a new one does. Adding a sample allocates nothing.
 */
export class DecayingMeans {
  /** By series: decayed sum and decayed number of the samples, as of `atNs`, the time of the latest. */
  private readonly sums: Float64Array;
  private readonly weights: Float64Array;
  private readonly atNs: Float64Array;

  constructor(
    series: number,
    private readonly timeConstantNs: number,
  ) {
    this.sums = new Float64Array(series);
    this.weights = new Float64Array(series);
    this.atNs = new Float64Array(series);
  }

  /** Takes in `count` equal samples. Times may run backwards a little: what is older counts as of the latest. */
  add(series: number, value: number, count: number, nowNs: number): void {
    const ageNs = nowNs - this.atNs[series];
    const decay = ageNs > 0 ? Math.exp(-ageNs / this.timeConstantNs) : 1;
    this.sums[series] = this.sums[series] * decay + value * count;
    this.weights[series] = this.weights[series] * decay + count;
    if (ageNs > 0) this.atNs[series] = nowNs;
  }

  /** When the latest sample came; 0: there was none. */
  latestNs(series: number): number {
    return this.atNs[series];
  }

  /** What the samples of a series count now. */
  weight(series: number, nowNs: number): number {
    return this.weights[series] * Math.exp(-Math.max(0, nowNs - this.atNs[series]) / this.timeConstantNs);
  }

  /** NaN: there was no sample. */
  mean(series: number): number {
    return this.sums[series] / this.weights[series];
  }
}
