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

/** A port that notes which fleets it runs. */
function portOf(meets: (index: number) => boolean, ruledOut: ((index: number) => boolean) | null = null) {
  const run = new Set<number>();
  const port: FleetPort = {
    ruledOut: ruledOut === null ? null : async (index) => ruledOut(index),
    judge: async (index) => {
      run.add(index);
      return meets(index) ? 'yes' : 'no';
    },
  };
  return { run, port };
}

/** Of all fleets that meet, the cheapest, and of equal cost the one with the fewest GPUs. */
function exhaustive(space: FleetSpace, meets: (index: number) => boolean): number | null {
  let best: number | null = null;
  for (let index = 0; index < space.size; index++) {
    if (!meets(index)) continue;
    const isBetter =
      best === null ||
      space.fleets[index]!.costPerHour < space.fleets[best]!.costPerHour - 1e-9 ||
      (Math.abs(space.fleets[index]!.costPerHour - space.fleets[best]!.costPerHour) <= 1e-9 &&
        space.fleets[index]!.gpus < space.fleets[best]!.gpus);
    if (isBetter) best = index;
  }
  return best;
}

/** Fleets that meet and fleets that miss in any order, and bounds that rule out some that miss, with all within them. */
const worlds = fc.record({
  prices: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 3 }),
  most: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 3, maxLength: 3 }),
  verdicts: fc.infiniteStream(fc.constantFrom(true, false, false, false)),
  beyond: fc.infiniteStream(fc.constantFrom(true, false)),
});

describe('a search for the cheapest fleet', () => {
  it('finds what a run of every fleet finds, whichever of them miss', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async ({ prices, most, verdicts, beyond }) => {
        const space = spaceOf(
          prices.map((price) => price / 8),
          most.slice(0, prices.length),
        );
        const fleets = Array.from({ length: space.size }, (_, index) => index);
        const drawn = (stream: typeof verdicts) => fleets.map(() => stream.next().value as boolean);
        const [meets, bounded] = [drawn(verdicts), drawn(beyond)];
        const couldMeet = (index: number) => fleets.some((one) => meets[one] && space.isWithin(one, index));
        const { port, run } = portOf(
          (index) => meets[index]!,
          (index) => bounded[index]! && !couldMeet(index),
        );
        const { answer } = await searchFleets(space, port);
        const best = exhaustive(space, (index) => meets[index]!);
        if (best === null) expect(answer).toBeNull();
        else {
          expect(space.fleets[answer!]!.costPerHour).toBeCloseTo(space.fleets[best]!.costPerHour, 9);
          expect(space.fleets[answer!]!.gpus).toBe(space.fleets[best]!.gpus);
          const dearer = [...run].filter(
            (one) => space.fleets[one]!.costPerHour > space.fleets[best]!.costPerHour,
          );
          expect(dearer.length).toBeLessThan(8);
        }
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  it('runs none of the fleets that bounds rule out, and asks for few bounds', async () => {
    const space = spaceOf([2.48, 0.35], [16, 32]);
    const work = (index: number) => space.fleets[index]!.counts[0]! + space.fleets[index]!.counts[1]! * 0.3;
    let asked = 0;
    const { port, run } = portOf(
      (index) => work(index) >= 9.5,
      (index) => {
        asked++;
        return work(index) < 9;
      },
    );
    const { answer, ruledOut } = await searchFleets(space, port);
    expect(space.text(answer!)).toBe('32 × k1');
    expect([...run].every((index) => work(index) >= 9)).toBe(true);
    const all = Array.from({ length: space.size }, (_, index) => index);
    expect(ruledOut).toBe(all.filter((index) => work(index) < 9).length);
    expect(asked).toBeLessThan(0.15 * space.size);
  });

  it('ends with the first fleets if no fleet can meet the targets', async () => {
    const space = spaceOf([1, 2], [9, 9]);
    let run = 0;
    const judge = async () => {
      run++;
      return 'never' as const;
    };
    expect(await searchFleets(space, { ruledOut: null, judge })).toEqual({ answer: null, ruledOut: 0 });
    expect(run).toBe(8);
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

it('takes a range of one for a kind that every fleet has', () => {
  const kinds = plannedKinds(['cluster.gpus.a=2:2', 'cluster.gpus.b=0:1'].map(parseOver));
  const prices = new Map([
    ['a', 1],
    ['b', 1],
  ]);
  const space = new FleetSpace(kinds, { prices, fixed: [], leastGpus: 2 });
  expect([0, 1].map((index) => space.text(index))).toEqual(['2 × a', '2 × a + 1 × b']);
});
