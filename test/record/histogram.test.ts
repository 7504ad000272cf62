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

describe('Histogram', () => {
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
