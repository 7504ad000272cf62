import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { binWidthNs, MAX_BINS, TimeBins } from '../../src/record/bins.js';
import { MS, S } from './fixtures.js';

describe('binWidthNs', () => {
  it('is a round width that gives a chart enough points', () => {
    expect(binWidthNs(20 * S)).toBe(100 * MS);
    expect(binWidthNs(60 * S)).toBe(500 * MS);
    expect(binWidthNs(240 * S)).toBe(1 * S);
    expect(binWidthNs(3600 * S)).toBe(30 * S);
    expect(binWidthNs(24 * 3600 * S)).toBe(600 * S);
  });
});

describe('TimeBins', () => {
  it('has at most 240 bins that cover the span, whatever its length', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 * S }),
        fc.integer({ min: 2, max: 104 * 86_400 * S }),
        (from, span) => {
          const bins = new TimeBins(from, from + span);
          expect(bins.count).toBeLessThanOrEqual(MAX_BINS);
          expect(bins.indexOf(from)).toBe(0);
          expect(bins.indexOf(from + span - 1)).toBe(bins.count - 1);
          expect(bins.indexOf(from + span)).toBe(bins.count);
          expect(bins.indexOf(Number.MAX_SAFE_INTEGER)).toBeLessThan(bins.counter().length);
        },
      ),
    );
  });

  it('has as many as are asked for, of whole nanoseconds where they divide the span', () => {
    const ofHundred = [100, 86_400].flatMap((seconds) => [seconds * S, seconds * S + 1]);
    expect(ofHundred.map((toNs) => new TimeBins(0, toNs, 100).widthNs / S)).toEqual([1, 1, 864, 864]);
    expect([new TimeBins(0, S / 2, 0).count, new TimeBins(0, 7.5 * S, 7).count]).toEqual([1, 7]);
  });
});
