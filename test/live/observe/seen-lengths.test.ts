import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../../src/core/model.js';
import { RequestTable } from '../../../src/core/request.js';
import { bestBuckets, type LengthAdvice, SeenLengths } from '../../../src/live/observe/seen-lengths.js';
import { model } from '../../core/fixtures.js';

/** Total length of inputs padded to the smallest bucket that holds each. */
function paddedTo(buckets: readonly number[], counts: ReadonlyMap<number, number>): number {
  return [...counts].reduce((sum, [length, count]) => {
    return sum + count * (buckets.find((bucket) => bucket >= length) ?? Number.POSITIVE_INFINITY);
  }, 0);
}

const totalOf = (counts: ReadonlyMap<number, number>) =>
  paddedTo(
    [...counts.keys()].sort((a, b) => a - b),
    counts,
  );

describe('bestBuckets', () => {
  it('has no more padding than any other choice of as many', () => {
    const counts = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 9 })), {
      selector: ([length]) => length,
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 5 }), (entries, most) => {
        const all = new Map(entries);
        const { buckets, padding } = bestBuckets(all, most, 0);
        const lengths = [...all.keys()].sort((a, b) => a - b);
        const choices = Array.from({ length: 2 ** lengths.length }, (_, bits) =>
          lengths.filter((_, i) => (bits >> i) % 2 === 1),
        ).filter((choice) => choice.length <= most);
        const least = Math.min(...choices.map((choice) => paddedTo(choice, all)));
        expect(buckets.length).toBeLessThanOrEqual(most);
        expect(paddedTo(buckets, all)).toBe(least);
        expect(padding).toBeCloseTo(least / totalOf(all) - 1, 9);
      }),
    );
  });

  it('takes no more than padding needs to be small', () => {
    const counts = new Map(Array.from({ length: 100 }, (_, i) => [i + 1, 1]));
    const { buckets, padding } = bestBuckets(counts, 20, 0.1);
    expect(padding).toBeLessThanOrEqual(0.1);
    expect(bestBuckets(counts, buckets.length - 1, 0).padding).toBeGreaterThan(0.1);
  });
});

describe('SeenLengths', () => {
  const texts = model({ lengths: [64], execNsByLength: [[1]], batchSizes: [1], execNs: [1] });

  function seenOf(lengths: readonly number[], spec: ModelSpec = { ...texts, equalLengths: true }) {
    const suggested: LengthAdvice[] = [];
    const seen = new SeenLengths([model(), spec], (_, advice) => suggested.push(advice));
    const requests = new RequestTable();
    for (const length of lengths) {
      const slot = requests.allocate(1, 0, 1, 0, 0, 0, length, 0);
      seen.answered(requests, slot);
      requests.release(slot);
    }
    return { seen, suggested };
  }

  it('suggests buckets once after many requests, and keeps the advice current', () => {
    const { seen, suggested } = seenOf(Array.from({ length: 4000 }, (_, i) => [7, 40, 41, 0][i % 4]));
    const advice = { shortest: 7, longest: 41, buckets: [7, 41], padding: expect.closeTo(0.011, 3) };
    expect(suggested).toEqual([{ requests: 1000, ...advice }]);
    expect(seen.advice(1)).toEqual({ requests: 2000, ...advice });
    expect(seen.advice(0)).toBe(null);
    seen.modelGone(1);
    expect(seen.advice(1)).toBe(null);
  });

  it('suggests nothing where inputs have one length, or are padded little', () => {
    const varied = Array.from({ length: 1000 }, (_, i) => [7, 40, 41][i % 3]);
    const advised = (lengths: readonly number[], spec: ModelSpec) => seenOf(lengths, spec).suggested.length;
    expect(advised(new Array(1000).fill(7), { ...texts, equalLengths: true })).toBe(0);
    expect(advised(varied, { ...texts, lengths: [8, 44] })).toBe(0);
    expect(advised(varied, { ...texts, lengths: [44] })).toBe(1);
  });

  it('holds any number of lengths in little memory, at most a few percent longer', () => {
    const { seen } = seenOf(Array.from({ length: 64_000 }, (_, i) => 1 + 30_000 * i));
    const { buckets, longest = 0, requests } = seen.advice(1) ?? { buckets: [] };
    expect([requests, buckets.at(-1)]).toEqual([64_000, longest]);
    expect(longest / (1 + 30_000 * 63_999)).toBeGreaterThanOrEqual(1);
    expect(longest / (1 + 30_000 * 63_999)).toBeLessThan(1.04);
  });
});
