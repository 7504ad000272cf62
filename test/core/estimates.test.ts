import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Estimates } from '../../src/core/estimates.js';

/** Percentile 0.99 with linear interpolation between closest ranks, of the last 10 samples, in whole ns. */
function percentile99(samples: readonly number[]): number {
  const sorted = samples.slice(-10).sort((a, b) => a - b);
  const rank = 0.99 * (sorted.length - 1);
  const below = Math.floor(rank);
  const above = Math.min(below + 1, sorted.length - 1);
  return Math.floor(sorted[below] + (rank - below) * (sorted[above] - sorted[below]));
}

describe('Estimates', () => {
  it('gives the interpolated 0.99 percentile of the last 10 measurements of each row', () => {
    // Few distinct values, so that repeats (the shortcut for constants) and changes alternate.
    const sample = fc.oneof(fc.constantFrom(2_730_000, 4_050_000), fc.integer({ min: 1, max: 10_000_000 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), sample), { maxLength: 80, size: 'max' }), (records) => {
        const estimates = new Estimates(3);
        const seen: number[][] = [[], [], []];
        for (const [row, duration] of records) {
          estimates.record(row, duration);
          seen[row].push(duration);
          expect(estimates.get(row)).toBe(percentile99(seen[row]));
          expect(estimates.least(row)).toBe(Math.min(...seen[row].slice(-10)));
        }
      }),
    );
  });

  it('grows in the middle of a window, and starts again where it is restarted', () => {
    const estimates = new Estimates(1);
    for (let i = 0; i < 13; i++) estimates.record(0, 1000 - i);
    estimates.grow(2);
    for (let i = 13; i < 30; i++) {
      estimates.record(0, 1000 - i);
      const seen = Array.from({ length: i + 1 }, (_, j) => 1000 - j);
      expect(estimates.get(0)).toBe(percentile99(seen));
    }
    estimates.restart(0, 5);
    for (const durationNs of [...Array(9).fill(5), 8]) estimates.record(0, durationNs);
    expect(estimates.get(0)).toBe(percentile99([5, 8].concat(Array(8).fill(5))));
    estimates.restart(0, 5);
    for (const [i, seen] of [
      [5, 6],
      [5, 6, 7],
    ].entries()) {
      estimates.record(0, 6 + i);
      expect(estimates.get(0)).toBe(percentile99(seen));
    }
  });
});
