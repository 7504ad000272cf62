import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecondBins } from '../../../../src/live/observe/status/second-bins.js';

const S = 1e9;

describe('sums of the last seconds', () => {
  it('keep as many seconds as they were asked to', () => {
    const bins = new SecondBins(2, 3);
    for (let second = 0; second < 5; second++) bins.add(1, second * S + 5, second);
    expect([0, 1, 2, 3, 4, 5].map((second) => bins.at(1, second))).toEqual([0, 0, 2, 3, 4, 0]);
    expect(bins.at(0, 4)).toBe(0);
    expect(bins.sum(1, 0, 9)).toBe(9);
  });

  it('take what comes late, unless it is too old', () => {
    const bins = new SecondBins(1, 3);
    bins.add(0, 10 * S, 1);
    bins.add(0, 8 * S, 2);
    bins.add(0, 7.5 * S, 4);
    expect([7, 8, 9, 10].map((second) => bins.at(0, second))).toEqual([0, 2, 0, 1]);
  });

  it('are empty again after a pause', () => {
    const bins = new SecondBins(1, 3);
    bins.add(0, 1 * S, 1);
    bins.add(0, 100 * S, 1);
    expect(bins.sum(0, 0, 100)).toBe(1);
  });

  it('spread spans over their seconds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 8 * S }), fc.integer({ min: 0, max: 4 * S }))),
        (spans) => {
          const bins = new SecondBins(1, 20);
          for (const [beginNs, lengthNs] of spans) bins.addSpan(0, beginNs, beginNs + lengthNs);
          for (let second = 0; second < 13; second++) {
            const expected = spans.reduce((sum, [beginNs, lengthNs]) => {
              const overlap = Math.min(beginNs + lengthNs, (second + 1) * S) - Math.max(beginNs, second * S);
              return sum + Math.max(0, overlap);
            }, 0);
            expect(bins.at(0, second)).toBe(expected);
          }
        },
      ),
    );
  });
});
