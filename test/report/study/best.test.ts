import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Sample } from '../../../src/report/statistics.js';
import { isBetter, standingOf } from '../../../src/report/study/points.js';

/** Candidates by name, each with its score under seeds 1, 2, …. */
function standing(scores: Readonly<Record<string, readonly number[]>>) {
  const { best, tied } = standingOf(Object.keys(scores), (name) => [bySeed(scores[name]!)]);
  return [best, ...tied];
}

function bySeed(values: readonly number[]): Sample {
  return { bySeed: Object.fromEntries(values.map((value, i) => [i + 1, value])) };
}

describe('standingOf', () => {
  it('takes the highest mean, and calls those within 0.1 % of it a tie', () => {
    expect(standing({ a: [463.6], b: [464], c: [463.8], d: [400] })).toEqual(['b', 'a', 'c']);
  });

  it('calls it a tie where seeds disagree about who is ahead, and takes the higher mean', () => {
    expect(standing({ a: [100, 120, 90], b: [101, 119, 99] })).toEqual(['b', 'a']);
  });

  it('goes by differences seed by seed: seeds that move both alike do not hide who is ahead', () => {
    expect(standing({ a: [100, 200, 300], b: [102, 201, 301.5] })).toEqual(['b']);
  });

  it('lets a second measure decide between candidates that are equal in the first', () => {
    const scores: Record<string, Sample[]> = {
      a: [{ bySeed: { 1: 0.98 } }, { bySeed: { 1: 400 } }],
      b: [{ bySeed: { 1: 0.98 } }, { bySeed: { 1: 500 } }],
      c: [{ bySeed: { 1: 0.9799 } }, { bySeed: { 1: 900 } }],
    };
    expect(standingOf(['a', 'b', 'c'], (name) => scores[name]!)).toEqual({
      best: 'b',
      equal: ['b'],
      tied: ['c'],
    });
  });

  it('names the candidate with the highest mean, whatever the seeds', () => {
    const level = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.tuple(level, level, level, level), { minLength: 1, maxLength: 6 }),
        fc.array(level, { minLength: 6, maxLength: 6 }),
        (seeds, rows, second) => {
          const mean = (i: number) => rows[i]!.slice(0, seeds).reduce((sum, one) => sum + one, 0) / seeds;
          const all = rows.map((_, i) => i);
          const { best, tied } = standingOf(all, (i) => [
            bySeed(rows[i]!.slice(0, seeds)),
            bySeed([second[i]!]),
          ]);
          const highest = Math.max(...all.map(mean));
          expect(mean(best)).toBe(highest);
          expect(tied).not.toContain(best);
        },
      ),
    );
  });

  it('ends where seeds failed here and there, so that each of three beats another', () => {
    const scores: Record<string, Sample> = {
      a: { bySeed: { 1: 10, 3: 1 } },
      b: { bySeed: { 1: 9, 2: 10 } },
      c: { bySeed: { 2: 9, 3: 2 } },
    };
    // Only c has a seed in common with b under which b is better.
    expect(standingOf(['a', 'b', 'c'], (name) => [scores[name]!])).toMatchObject({ best: 'b', tied: ['a'] });
  });
});

describe('isBetter', () => {
  it('wants 0.1 % of the whole, and an interval of the difference without 0', () => {
    expect(isBetter(bySeed([0.5]), bySeed([0.4992]), 1)).toBe(false);
    expect(isBetter(bySeed([0.5]), bySeed([0.4988]), 1)).toBe(true);
    // Mean difference 2; over two seeds its 95 % interval is ± 12.7.
    expect(isBetter(bySeed([101, 103]), bySeed([100, 100]), 100)).toBe(false);
    expect(isBetter(bySeed([102, 102.1]), bySeed([100, 100]), 100)).toBe(true);
  });
});
