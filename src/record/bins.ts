import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S } from '../base/units.js';

/** Largest number of bins up to the nominal end, unless a number is given. */
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

/** Bins after the nominal end; the last one takes everything later. */
const TAIL_BINS = MAX_BINS;

/**
 * Equal bins of virtual time over [fromNs, toNs), none if that is empty, and further ones of the same width for answers
 * after the nominal end. By default at most 240, with a round width if that divides the span.
 */
export class TimeBins {
  readonly widthNs: number;
  /** Bins up to the nominal end. */
  readonly count: number;
  /** All bins. */
  readonly length: number;

  constructor(
    readonly fromNs: number,
    readonly toNs: number,
    count?: number,
  ) {
    // A trace ends 1 ns after its last arrival.
    const spanNs = toNs - fromNs - 1;
    const roundNs = binWidthNs(spanNs);
    this.count = spanNs === 0 ? 0 : Math.max(1, count ?? Math.round(spanNs / roundNs));
    const wholeNs = [spanNs, spanNs + 1].find((ns) => ns % this.count === 0) ?? spanNs;
    this.widthNs = this.count === 0 ? roundNs : wholeNs / this.count;
    this.length = this.count + TAIL_BINS;
  }

  /** One element per bin, those after the nominal end included. */
  counter(): Float64Array {
    return new Float64Array(this.length);
  }

  /** Bin of an instant, which must not be before `fromNs`. */
  indexOf(nowNs: number): number {
    if (nowNs >= this.toNs)
      return Math.min(this.length - 1, this.count + Math.floor((nowNs - this.toNs) / this.widthNs));
    const bin = ((nowNs - this.fromNs) / this.widthNs) | 0;
    return bin < this.count ? bin : Math.max(0, this.count - 1);
  }

  /** Start of a bin. */
  beginNs(bin: number): number {
    return this.fromNs + bin * this.widthNs;
  }
}
