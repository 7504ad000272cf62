import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../src/record/histogram.js';

const PERCENTS = [0, 1, 25, 50, 90, 99, 99.9, 99.99, 100];

/** Durations of every magnitude from 1 ns to 2^53 ns. */
const durations = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 52 }), fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([octave, fraction]) => Math.floor(2 ** octave * (1 + fraction))),
  { minLength: 1, maxLength: 400 },
);

function filled(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** The definition: the smallest value such that at least `percent` of the values are not above it. */
function nearestRank(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const found = sorted.find((_, i) => ((i + 1) / sorted.length) * 100 >= percent - 1e-9);
  return found ?? Number.NaN;
}

describe('Histogram', () => {
  it('agrees with sorted values within 0.05 %', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const histogram = filled(values);
        for (const percent of PERCENTS) {
          const exact = nearestRank(values, percent);
          expect(Math.abs(histogram.percentile(percent) - exact)).toBeLessThanOrEqual(exact * 0.0005);
        }
      }),
    );
  });

  it('knows count, minimum, maximum and mean exactly', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 1 }), (values) => {
        const histogram = filled(values);
        expect(histogram.count).toBe(values.length);
        expect(histogram.percentile(0)).toBe(Math.min(...values));
        expect(histogram.percentile(100)).toBe(Math.max(...values));
        expect(histogram.mean).toBe(values.reduce((sum, value) => sum + value, 0) / values.length);
      }),
    );
  });

  it('is exact for small values and for a single value', () => {
    const small = Array.from({ length: 2047 }, (_, i) => i + 1);
    expect(filled(small).percentiles([10, 50, 99])).toEqual([205, 1024, 2027]);
    expect(filled([8_309_123]).percentiles([0, 50, 100])).toEqual([8_309_123, 8_309_123, 8_309_123]);
  });

  it('does not step to the next rank by rounding', () => {
    // 99.9 / 100 * 1000 is slightly above 999 in floating point.
    expect(filled(Array.from({ length: 1000 }, (_, i) => i + 1)).percentile(99.9)).toBe(999);
  });

  it('adds up to what one histogram would have counted', () => {
    fc.assert(
      fc.property(durations, durations, (a, b) => {
        const sum = filled(a);
        sum.add(filled(b));
        const both = filled([...a, ...b]);
        expect(sum.count).toBe(both.count);
        // Sums beyond 2^53 ns depend on the order of addition in their last bits.
        expect(Math.abs(sum.mean / both.mean - 1)).toBeLessThan(1e-12);
        expect(sum.percentiles(PERCENTS)).toEqual(both.percentiles(PERCENTS));
      }),
    );
  });

  it('answers NaN when empty and refuses what is no duration', () => {
    expect(new Histogram().percentile(50)).toBeNaN();
    expect(new Histogram().mean).toBeNaN();
    expect(() => new Histogram().record(-1)).toThrow('invariant');
    expect(() => new Histogram().record(Number.NaN)).toThrow('invariant');
  });
});
