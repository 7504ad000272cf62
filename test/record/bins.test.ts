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

  it('goes on after the end up to the last of any counter', () => {
    const bins = new TimeBins(10 * S, 30 * S);
    const [early, late] = [bins.counter(), bins.counter()];
    early[bins.indexOf(10 * S)] += 3;
    expect(bins.perSecond(early)[0]).toHaveLength(200);
    late[bins.indexOf(30 * S + 250 * MS)] += 7;
    const [first, second] = bins.perSecond(early, late);
    expect([first.length, first[0], second.length, second.at(-1)]).toEqual([203, 30, 203, 70]);
  });

  it('has no short last bin, whose rate would be a peak or a gap by chance', () => {
    const bins = new TimeBins(0, 20 * S + 50 * MS + 1);
    const [rates] = bins.perSecond(bins.counter().fill(1, 0, bins.count));
    expect([rates.length, new Set(rates).size, bins.widthNs * bins.count]).toEqual([201, 1, 20.05 * S]);
  });

  it('makes no bin of the nanosecond by which a trace outlasts its last arrival', () => {
    const bins = new TimeBins(0, S + 1);
    const counter = bins.counter();
    counter[bins.indexOf(S)] += 1;
    expect(bins.perSecond(counter)[0]).toEqual([...new Array(199).fill(0), 200]);
    expect([new TimeBins(S, S + 1).count, new TimeBins(S, S + 1).indexOf(S)]).toEqual([0, 0]);
  });
});
