import { describe, expect, it } from 'vitest';
import { type Preference, type SearchResult, search } from '../../../src/run/plan/search.js';

describe('search', () => {
  it('finds every boundary of every range, from either side, with few values', async () => {
    for (let size = 2; size <= 33; size++) {
      for (let boundary = 1; boundary < size; boundary++) {
        const up = await asked(size, 'low', (index) => index >= boundary);
        expect(up.result).toMatchObject({ kind: 'boundary', answer: boundary, before: boundary - 1 });
        const down = await asked(size, 'high', (index) => index < boundary);
        expect(down.result).toMatchObject({ kind: 'boundary', answer: boundary - 1, before: boundary });
        for (const { indices, result } of [up, down]) {
          expect(result).toMatchObject({ inside: false, contradictions: [] });
          expect(indices.length).toBeLessThanOrEqual(
            13 + 3 * Math.max(0, Math.ceil(Math.log2(size / 8) / 2)),
          );
          expect(Math.min(...indices)).toBe(0);
          expect(Math.max(...indices)).toBe(size - 1);
        }
      }
    }
  });

  it('answers with the better end where both meet, and says that it is unknown without a preference', async () => {
    expect((await asked(50, 'low', () => true)).result).toEqual({
      kind: 'whole',
      answer: 0,
      contradictions: [],
    });
    expect((await asked(50, 'high', () => true)).result).toMatchObject({ kind: 'whole', answer: 49 });
    expect((await asked(50, null, () => true)).result).toEqual({ kind: 'undecided', example: 0 });
  });

  it('looks between two ends that miss', async () => {
    const inside = (index: number) => index >= 20 && index <= 45;
    expect((await asked(100, 'low', inside)).result).toMatchObject({ answer: 20, before: 19, inside: true });
    expect((await asked(100, 'high', inside)).result).toMatchObject({ answer: 45, before: 46, inside: true });
    expect((await asked(100, null, inside)).result.kind).toBe('undecided');
    expect((await asked(100, 'low', () => false)).result).toEqual({ kind: 'none' });
    expect((await asked(2, 'low', () => false)).indices).toEqual([0, 1]);
  });

  it('moves on where a neighbour on the good side misses, and reports what contradicts the boundary', async () => {
    // Bisection of 0 to 16 comes to 9, as 8 misses; 11 misses too, and 12 to 16 hold.
    const noisy = (index: number) => index >= 9 && index !== 11;
    const { result } = await asked(17, 'low', noisy);
    expect(result).toMatchObject({ answer: 12, before: 11, contradictions: [9, 10] });
  });

  it('reports a value before the boundary that meets by chance', async () => {
    const { result } = await asked(17, 'low', (index) => index >= 9 || index === 7);
    expect(result).toMatchObject({ answer: 9, before: 8, contradictions: [7] });
  });

  it('finds the better of two places where the target holds, and reports what misses between them', async () => {
    const twice = (index: number) => (index >= 10 && index < 30) || index >= 70;
    const low = await asked(81, 'low', twice);
    expect(low.result).toMatchObject({ answer: 10, before: 9, contradictions: [30, 40, 50, 60] });
    const high = await asked(81, 'high', (index) => twice(80 - index));
    expect(high.result).toMatchObject({ answer: 70, before: 71, contradictions: [20, 30, 40, 50] });
  });

  it('names no contradictions beyond where the target holds inside the range', async () => {
    const { result, indices } = await asked(81, 'low', (index) => index >= 20 && index <= 40);
    expect(indices).toContain(70);
    const found = { kind: 'boundary', answer: 20, before: 19, inside: true, contradictions: [] };
    expect(result).toEqual(found);
  });

  it('never answers with a value whose good neighbours miss, however noisy', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const meets = (index: number) => index > 60 || (index > 30 && ((index * 7919 * seed) >> 3) % 3 === 0);
      const { result } = await asked(80, 'low', meets);
      const { answer, before } = result as Extract<SearchResult, { kind: 'boundary' }>;
      expect(
        [before, answer, answer + 1, answer + 2].map((i) => meets(Math.min(i, 79))),
        `seed ${seed}`,
      ).toEqual([false, true, true, true]);
    }
  });
});

/** Searches by a predicate; `indices` are the values that were asked for, each once. */
async function asked(size: number, prefer: Preference | null, meets: (index: number) => boolean) {
  const indices = new Set<number>();
  const result = await search(size, prefer, async (index) => {
    expect(index).toBeGreaterThanOrEqual(0);
    expect(index).toBeLessThan(size);
    indices.add(index);
    return meets(index);
  });
  return { result, indices: [...indices] };
}
