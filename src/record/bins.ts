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

/** Bins after the nominal end: the last takes all that comes later. */
const TAIL_BINS = MAX_BINS;

/**
 * Equal bins of virtual time, at most 240 over [fromNs, toNs) for any length, and further ones of the same width for
 * answers after the nominal end. Widths are round where they divide the span.
 */
export class TimeBins {
  readonly widthNs: number;
  /** Bins up to the nominal end. */
  readonly count: number;

  constructor(
    readonly fromNs: number,
    readonly toNs: number,
  ) {
    // A trace ends 1 ns after its last arrival.
    const spanNs = toNs - fromNs - 1;
    const roundNs = binWidthNs(spanNs);
    this.count = spanNs === 0 ? 0 : Math.max(1, Math.round(spanNs / roundNs));
    this.widthNs = Math.abs(this.count * roundNs - spanNs) <= 1 ? roundNs : spanNs / this.count;
  }

  /** One element per bin, those after the nominal end included. */
  counter(): Float64Array {
    return new Float64Array(this.count + TAIL_BINS);
  }

  /** Bin of an instant, which must not be before `fromNs`. */
  indexOf(nowNs: number): number {
    if (nowNs >= this.toNs)
      return this.count + Math.min(TAIL_BINS - 1, Math.floor((nowNs - this.toNs) / this.widthNs));
    const bin = ((nowNs - this.fromNs) / this.widthNs) | 0;
    return bin < this.count ? bin : Math.max(0, this.count - 1);
  }

  get seconds(): number {
    return this.widthNs / NS_PER_S;
  }

  /** Counts per second of each counter, up to the last bin in which one of them has any, at least to the nominal end. */
  perSecond(...counters: readonly Float64Array[]): number[][] {
    const ends = counters.map((counter) => counter.findLastIndex((count) => count > 0) + 1);
    const end = this.count === 0 ? 0 : Math.max(this.count, ...ends);
    return counters.map((counter) => Array.from(counter.subarray(0, end), (count) => count / this.seconds));
  }
}
