import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S } from '../base/units.js';

/** Largest number of points in a time series: what a chart of ordinary width can show. */
export const MAX_BINS = 240;

const NS_PER_DAY = 24 * NS_PER_HOUR;
/** Bin widths that are easy to read, ascending. 240 days exceed any representable time. */
const ROUND_WIDTHS_NS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => ms * NS_PER_MS),
  ...[1, 2, 5, 10, 30].map((s) => s * NS_PER_S),
  ...[1, 2, 5, 10, 30].map((minutes) => minutes * NS_PER_MINUTE),
  ...[1, 2, 6, 12].map((hours) => hours * NS_PER_HOUR),
  NS_PER_DAY,
];

/** Smallest round bin width that cuts `spanNs` into at most 240 bins; at least 1 ms. */
export function binWidthNs(spanNs: number): number {
  return ROUND_WIDTHS_NS.find((widthNs) => widthNs * MAX_BINS >= spanNs) ?? NS_PER_DAY;
}

/**
 * Equal bins of virtual time over [fromNs, toNs), at most 240 for any length. Counters have one more element than there
 * are bins: the last takes everything at `toNs` or later, such as the ns by which a trace outlasts its last arrival.
 */
export class TimeBins {
  readonly widthNs: number;
  readonly count: number;

  constructor(
    readonly fromNs: number,
    readonly toNs: number,
  ) {
    this.widthNs = binWidthNs(toNs - fromNs - 1);
    this.count = Math.ceil((toNs - fromNs - 1) / this.widthNs);
  }

  counter(): Float64Array {
    return new Float64Array(this.count + 1);
  }

  /** Bin of an instant, which must not be before `fromNs`. */
  indexOf(nowNs: number): number {
    if (nowNs >= this.toNs) return this.count;
    const bin = ((nowNs - this.fromNs) / this.widthNs) | 0;
    return bin < this.count ? bin : Math.max(0, this.count - 1);
  }

  /** Length of each bin; the last may be narrower than the others. */
  get seconds(): number[] {
    return Array.from({ length: this.count }, (_, i) => {
      const beginNs = this.fromNs + i * this.widthNs;
      return (Math.min(beginNs + this.widthNs, this.toNs) - beginNs) / NS_PER_S;
    });
  }

  /** Counts per second, one element per bin. */
  perSecond(counter: Float64Array): number[] {
    return this.seconds.map((seconds, i) => counter[i] / seconds);
  }
}
