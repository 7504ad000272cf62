import { NS_PER_S } from '../../../base/units.js';

/** Sums of many series in each of the last seconds. Adding allocates nothing. */
export class SecondBins {
  /** Second by second, so that a new one is cleared in one go. */
  private readonly sums: Float64Array;
  private newestSecond = 0;

  constructor(
    private readonly series: number,
    /** Number of seconds kept, including the current one. */
    private readonly seconds: number,
  ) {
    this.sums = new Float64Array(series * seconds);
  }

  /** Adds to the second of `atNs`; ignored if that is no longer kept. */
  add(series: number, atNs: number, amount: number): void {
    const second = Math.floor(atNs / NS_PER_S);
    if (second > this.newestSecond) this.advance(second);
    if (second < 0 || second <= this.newestSecond - this.seconds) return;
    this.sums[(second % this.seconds) * this.series + series] += amount;
  }

  /** Spreads a span of time over its seconds, in ns. */
  addSpan(series: number, beginNs: number, endNs: number): void {
    let fromNs = Math.max(0, beginNs, endNs - this.seconds * NS_PER_S);
    while (fromNs < endNs) {
      const nextNs = (Math.floor(fromNs / NS_PER_S) + 1) * NS_PER_S;
      this.add(series, fromNs, Math.min(nextNs, endNs) - fromNs);
      fromNs = nextNs;
    }
  }

  /** Sum of a second; 0 if it is not kept. */
  at(series: number, second: number): number {
    if (second < 0 || second > this.newestSecond || second <= this.newestSecond - this.seconds) return 0;
    return this.sums[(second % this.seconds) * this.series + series];
  }

  /** Sum from `fromSecond` to `toSecond`, inclusive. */
  sum(series: number, fromSecond: number, toSecond: number): number {
    let sum = 0;
    for (let second = fromSecond; second <= toSecond; second++) sum += this.at(series, second);
    return sum;
  }

  private advance(second: number): void {
    const { series, seconds } = this;
    for (let next = Math.max(this.newestSecond + 1, second - seconds + 1); next <= second; next++) {
      const row = (next % seconds) * series;
      this.sums.fill(0, row, row + series);
    }
    this.newestSecond = second;
  }
}
