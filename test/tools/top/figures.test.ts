import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attainment, count, elapsed, milliseconds, percent, rate } from '../../../src/tools/top/figures.js';

describe('figures', () => {
  it('have three digits', () => {
    expect([0, 0.126, 9.996, 12.34, 99.96, 100, 9999, 10_000, 123_456, 1_234_567].map(rate)).toEqual([
      ...['0', '0.13', '10.0', '12.3', '100', '100', '9999', '10.0k', '123k', '1.23M'],
    ]);
    expect([0, 7, 9999, 54_321].map(count)).toEqual(['0', '7', '9999', '54.3k']);
    expect([0, 0.004, 1.5, 150.4, 12_345].map(milliseconds)).toEqual([
      '0.00',
      '0.00',
      '1.50',
      '150',
      '12.3s',
    ]);
  });

  it('are never wider than their columns', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 9e8, noNaN: true }), (value) => {
        for (const show of [rate, count, milliseconds]) expect(show(value).length).toBeLessThanOrEqual(7);
        expect(rate(value).length).toBeLessThanOrEqual(5);
        expect(count(value).length).toBeLessThanOrEqual(5);
      }),
    );
  });

  it('say 100 % only of all', () => {
    expect([0, 0.5, 0.9999, 1].map(percent)).toEqual(['0.0', '50.0', '99.9', '100']);
    expect(attainment({ goodputRps: 0, failedRps: 0 })).toBeNull();
    expect(attainment({ goodputRps: 3, failedRps: 1 })).toBe(0.75);
  });

  it('say how long ago', () => {
    expect([0, 59.9, 187, 3600, 3723, 90_061].map(elapsed)).toEqual([
      ...['0:00', '0:59', '3:07', '1:00:00', '1:02:03', '1 d 1:01:01'],
    ]);
  });
});
