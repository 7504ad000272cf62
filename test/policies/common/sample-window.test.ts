import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SampleWindow } from '../../../src/policies/common/self-tuning.js';

describe('SampleWindow', () => {
  it('tells which value a share of the measurements does not exceed', () => {
    const window = new SampleWindow(10);
    for (const value of [50, 10, 40, 20, 30]) window.add(value);
    expect([0, 0.2, 0.21, 0.5, 0.8, 0.81, 1].map((share) => window.quantile(share))).toEqual([
      10, 10, 20, 30, 40, 50, 50,
    ]);
    expect([0, 4].map((rank) => window.rank(rank))).toEqual([10, 50]);
  });

  it('is 0 while there is none', () => {
    expect(new SampleWindow(3).quantile(0.5)).toBe(0);
  });

  it('forgets the oldest of more than it holds', () => {
    const window = new SampleWindow(3);
    for (const value of [9, 1, 2, 3]) window.add(value);
    expect(window.size).toBe(3);
    expect(window.quantile(1)).toBe(3);
    window.add(0);
    expect([0, 1, 2].map((rank) => window.rank(rank))).toEqual([0, 2, 3]);
  });

  it('is a sorted list of the last ones, whatever was asked in between', () => {
    fc.assert(
      fc.property(
        // −0 and 0 are one value, in whatever order.
        fc.array(
          fc.double({ noNaN: true }).map((value) => value + 0),
          { maxLength: 40 },
        ),
        fc.integer({ min: 1, max: 12 }),
        (values, capacity) => {
          const window = new SampleWindow(capacity);
          for (const [i, value] of values.entries()) {
            window.add(value);
            const last = values.slice(Math.max(0, i + 1 - capacity), i + 1).sort((a, b) => a - b);
            expect(window.size).toBe(last.length);
            if (i % 3 > 0) expect(last.map((_, rank) => window.rank(rank))).toEqual(last);
          }
        },
      ),
    );
  });
});
