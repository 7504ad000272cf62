import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FleetPort, searchFleets } from '../../../src/run/plan/fleet-search.js';
import { FleetSpace, plannedKinds } from '../../../src/run/plan/fleet-space.js';
import { parseOver } from '../../../src/run/plan/over.js';

function spaceOf(prices: readonly number[], most: readonly number[]): FleetSpace {
  const kinds = plannedKinds(most.map((count, kind) => parseOver(`cluster.gpus.k${kind}=0:${count}`)));
  const named = new Map(prices.map((price, kind) => [`k${kind}`, price]));
  return new FleetSpace(kinds, { prices: named, fixed: [], leastGpus: 1 });
}

/** A port that counts what it is asked. */
function portOf(meets: (index: number) => boolean, ruledOut: (index: number) => boolean = () => false) {
  const run = new Set<number>();
  const port: FleetPort = {
    ruledOut: async (index) => ruledOut(index),
    judge: async (index) => {
      run.add(index);
      return meets(index) ? 'yes' : 'no';
    },
    ahead: () => {},
  };
  return { run, port };
}

/** Of all fleets that meet, the cheapest, and of equal cost the one with the fewest GPUs. */
function exhaustive(space: FleetSpace, meets: (index: number) => boolean): number | null {
  let best: number | null = null;
  for (let index = 0; index < space.size; index++) {
    if (!space.isCluster(index) || !meets(index)) continue;
    const isBetter =
      best === null ||
      space.costPerHour(index) < space.costPerHour(best) - 1e-9 ||
      (Math.abs(space.costPerHour(index) - space.costPerHour(best)) <= 1e-9 &&
        space.gpus(index) < space.gpus(best));
    if (isBetter) best = index;
  }
  return best;
}

/** What fleets can do where several kinds add up, each model or two being served by some kinds only. */
const worlds = fc.record({
  kinds: fc.integer({ min: 1, max: 3 }),
  prices: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 3, maxLength: 3 }),
  most: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 3, maxLength: 3 }),
  demands: fc.array(
    fc.record({
      speeds: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 }),
      load: fc.integer({ min: 1, max: 60 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

describe('a search for the cheapest fleet', () => {
  it('finds what a run of every fleet finds, where more GPUs never hurt', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async ({ kinds, prices, most, demands }) => {
        const space = spaceOf(
          prices.slice(0, kinds).map((price) => price / 8),
          most.slice(0, kinds),
        );
        const meets = (index: number) =>
          demands.every(
            ({ speeds, load }) =>
              space.counts(index).reduce((sum, n, kind) => sum + n * speeds[kind]!, 0) >= load,
          );
        const { port } = portOf(meets);
        const { answer, contradictions } = await searchFleets(space, port);
        const best = exhaustive(space, meets);
        expect(contradictions).toEqual([]);
        if (best === null) expect(answer).toBeNull();
        else {
          expect(space.costPerHour(answer!)).toBeCloseTo(space.costPerHour(best), 9);
          expect(space.gpus(answer!)).toBe(space.gpus(best));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('runs few of the fleets of a large grid, and fewer with bounds', async () => {
    const space = spaceOf([2.48, 0.35], [16, 32]);
    const work = (index: number) => space.counts(index)[0]! * 1 + space.counts(index)[1]! * 0.3;
    const plain = portOf((index) => work(index) >= 9.5);
    const { answer } = await searchFleets(space, plain.port);
    expect(space.text(answer!)).toBe('32 × k1');
    expect(plain.run.size).toBeLessThan(0.1 * space.size);
    const bounded = portOf(
      (index) => work(index) >= 9.5,
      (index) => work(index) < 9,
    );
    const found = await searchFleets(space, bounded.port);
    expect(found.answer).toBe(answer);
    expect(bounded.run.size).toBeLessThan(plain.run.size);
    expect(found.ruledOut.length).toBeGreaterThan(0);
  });

  it('takes a cheaper neighbour that meets although a larger fleet missed, and says so', async () => {
    const space = spaceOf([1], [8]);
    // 4 GPUs miss by bad luck; 3 and 5 meet.
    const { port } = portOf((index) => index >= 3 && index !== 4);
    const { answer, contradictions } = await searchFleets(space, port);
    expect(answer).toBe(3);
    expect(contradictions).toEqual([4]);
  });

  it('looks at smaller fleets where only the largest is in doubt', async () => {
    const space = spaceOf([1], [8]);
    const verdict = (index: number) => (index === 8 ? 'unsure' : index >= 6 ? 'yes' : 'no');
    const found = await searchFleets(space, {
      ...portOf(() => false).port,
      judge: async (index) => verdict(index),
    });
    expect(found.answer).toBe(6);
    expect(found.contradictions).toEqual([8]);
  });

  it('names no fleet where none meets', async () => {
    const space = spaceOf([1, 2], [3, 3]);
    const { port, run } = portOf(() => false);
    expect(await searchFleets(space, port)).toEqual({ answer: null, ruledOut: [], contradictions: [] });
    // The whole range, and its neighbours.
    expect(run.size).toBeLessThanOrEqual(6);
  });
});

describe('ranges of fleets', () => {
  it.each([
    ['cluster.gpus=1:8', 'with --minimize cost, ranges are of kinds of GPUs, e.g. cluster.gpus.t4=0:16'],
    ['cluster.gpus.t4=0:8,cluster.gpus.t4=0:4', 'cluster.gpus.t4 is given twice'],
    ['cluster.gpus.a=0:999,cluster.gpus.b=0:999', 'narrow the ranges'],
  ])('%s are refused', (text, message) => {
    expect(() => plannedKinds(text.split(',').map(parseOver))).toThrow(message);
  });
});
