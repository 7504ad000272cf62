import { describe, expect, it } from 'vitest';
import { estimate } from '../../../src/report/statistics.js';
import { surelyBest } from '../../../src/tools/bench/best.js';
import { difference, isAbove } from '../../../src/tools/bench/difference.js';

describe('the difference of two means', () => {
  it('has the interval of Welch', () => {
    // Variances 4 and 38/3: 4.8 degrees of freedom, rounded down to 4.
    const { low, high } = difference(estimate([10, 12, 14]), estimate([1, 2, 9, 4]));
    expect(low).toBeCloseTo(8 - 2.776 * Math.sqrt(4 / 3 + 38 / 12), 6);
    expect(high).toBeCloseTo(8 + 2.776 * Math.sqrt(4 / 3 + 38 / 12), 6);
  });

  it('is exact where nothing scatters, and unknown of one trial', () => {
    expect(difference(estimate([3, 3]), estimate([1, 1]))).toEqual({ low: 2, high: 2 });
    expect(isAbove(estimate([300]), estimate([1, 1]))).toBe(false);
  });
});

describe('the best value', () => {
  it('is above every other beyond the noise', () => {
    const slow = estimate([100, 101, 99]);
    expect(surelyBest([slow, estimate([150, 152, 149]), estimate([120, 121, 119])])).toBe(1);
    expect(surelyBest([slow, estimate([150, 152, 149]), estimate([149, 151, 150])])).toBeNull();
    expect(surelyBest([slow])).toBeNull();
  });
});
