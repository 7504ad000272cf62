import { invariant } from '../base/invariant.js';

/** Values up to 2^53 ns, the limit of exact integers. */
const OCTAVES = 54;
/** Exponent field of the double 1.0, and bits of the fraction next to it in the upper half of a double. */
const EXPONENT_OF_ONE = 1023;
const UPPER_BITS = 20;

/**
 * A value's bucket is its exponent and the first bits of its fraction, which are adjacent in the upper half of a
 * double: one store and one load, no logarithm, no branch.
 */
const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const UPPER = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;

/**
 * Counts durations (integer ns, 0 to 2^53) in log-linear buckets, 2^`bits` per power of two, so that memory is fixed and
 * recording costs a few ns regardless of the number of values. Count, minimum and maximum are exact; the mean is exact
 * as long as the sum stays below 2^53 ns. With 10 bits it takes 216 KiB, and percentiles are off by at most 0.05 % of
 * the value and exact from 1 to 2047 ns; each bit less halves the memory and doubles the error. A bucket counts up to
 * 2^32 − 1 values.
 *
 * @example
 * const latency = new Histogram();
 * latency.record(8_309_000);
 * latency.percentile(99.9); // 8309000
 */
export class Histogram {
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = 0;
  private readonly buckets: Uint32Array;
  private readonly shift: number;
  private readonly indexOfOne: number;

  constructor(private readonly bits = 10) {
    this.buckets = new Uint32Array(OCTAVES << bits);
    this.shift = UPPER_BITS - bits;
    this.indexOfOne = EXPONENT_OF_ONE << bits;
  }

  record(value: number): void {
    invariant(value >= 0, 'a duration is not negative');
    this.buckets[this.bucketOf(value)]++;
    this.count++;
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /** Forgets all values. */
  clear(): void {
    this.buckets.fill(0);
    this.count = this.sum = this.max = 0;
    this.min = Number.POSITIVE_INFINITY;
  }

  /** Adds all counts of `other`, which has as many bits. */
  add(other: Histogram): void {
    invariant(other.bits === this.bits, 'histograms that are added have the same buckets');
    for (let i = 0; i < this.buckets.length; i++) this.buckets[i] += other.buckets[i];
    this.count += other.count;
    this.sum += other.sum;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
  }

  /** NaN if empty. */
  get mean(): number {
    return this.sum / this.count;
  }

  /**
   * Value at a percentile (0 to 100) by the nearest-rank rule: the smallest recorded value that at least this share of
   * all values does not exceed. NaN if empty.
   */
  percentile(percent: number): number {
    return this.percentiles([percent])[0];
  }

  /**
   * Several percentiles in one pass; `percents` must ascend. With `outOf`, at least `count`: percentiles of that many
   * values, of which those not recorded are infinite.
   */
  percentiles(percents: readonly number[], outOf = this.count): number[] {
    const values: number[] = [];
    let seen = 0;
    let bucket = this.count === 0 ? -1 : this.bucketOf(this.min) - 1;
    for (const percent of percents) {
      const rank = nearestRank(percent, outOf);
      if (rank > this.count && outOf > 0) {
        values.push(Number.POSITIVE_INFINITY);
        continue;
      }
      while (seen < rank) seen += this.buckets[++bucket];
      values.push(this.valueAt(rank, bucket));
    }
    return values;
  }

  /** Zero has no exponent; it shares the first bucket with 1. */
  private bucketOf(value: number): number {
    double[0] = value;
    return Math.max(0, (words[UPPER] >>> this.shift) - this.indexOfOne);
  }

  /** The first and last values are exact; others count as the middle of their bucket. */
  private valueAt(rank: number, bucket: number): number {
    if (this.count === 0) return Number.NaN;
    if (rank === 1) return this.min;
    if (rank === this.count) return this.max;
    return Math.min(Math.max(this.middleOf(bucket), this.min), this.max);
  }

  /** Middle of the integers in a bucket. */
  private middleOf(bucket: number): number {
    return Math.round((this.lowestOf(bucket) + this.lowestOf(bucket + 1) - 1) / 2);
  }

  /** Smallest integer of a bucket. */
  private lowestOf(bucket: number): number {
    const perOctave = 2 ** this.bits;
    const octave = 2 ** Math.floor(bucket / perOctave);
    return Math.ceil(octave * (1 + (bucket % perOctave) / perOctave));
  }
}

/** All counts of several histograms with this many bits; null counts nothing. */
export function merged(histograms: readonly (Histogram | null)[], bits?: number): Histogram {
  const all = new Histogram(bits);
  for (const each of histograms) if (each !== null) all.add(each);
  return all;
}

/** Rank of a percentile among `count` values, from 1. The slack undoes rounding such as 0.999 × 1000 > 999. */
function nearestRank(percent: number, count: number): number {
  return Math.min(count, Math.max(1, Math.ceil((percent / 100) * count - 1e-12 * count)));
}
