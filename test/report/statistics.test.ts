import { describe, expect, it } from 'vitest';
import { estimate, studentT95 } from '../../src/report/statistics.js';

describe('estimate', () => {
  it('gives the 95 % interval of Student for a few repetitions', () => {
    const { mean, sd, low, high } = estimate([10, 12, 14]);
    expect(mean).toBe(12);
    expect(sd).toBe(2);
    // t(2) = 4.303, standard error 2 / √3.
    expect(high - mean).toBeCloseTo(4.969, 3);
    expect(mean - low).toBeCloseTo(4.969, 3);
  });

  it('has no interval for a single repetition', () => {
    expect(estimate([7])).toEqual({ n: 1, mean: 7, sd: 0, low: 7, high: 7 });
  });

  it('continues the table of Student without a step', () => {
    expect(studentT95(30)).toBeCloseTo(2.042, 3);
    expect(studentT95(31)).toBeCloseTo(2.04, 2);
    expect(studentT95(1000)).toBeCloseTo(1.962, 3);
  });
});
