import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cheapest,
  type Fleet,
  type FleetPort,
  fleetsOf,
  isWithin,
  plannedKinds,
} from '../../../src/run/plan/fleet-space.js';
import { parseOver } from '../../../src/run/plan/over.js';

function spaceOf(prices: readonly number[], most: readonly number[]): Fleet[] {
  const kinds = plannedKinds(most.map((count, kind) => parseOver(`cluster.gpus.k${kind}=0:${count}`)));
  return fleetsOf(
    kinds,
    prices.map((pricePerHour, kind) => ({ name: `k${kind}`, gpus: 0, pricePerHour })),
    1,
  );
}

/** A port that notes which fleets it runs. */
function portOf(meets: (fleet: Fleet) => boolean, ruledOut: ((fleet: Fleet) => boolean) | null = null) {
  const run = new Set<Fleet>();
  const port: FleetPort = {
    ruledOut: ruledOut === null ? null : async (fleet) => ruledOut(fleet),
    judge: async (fleet) => {
      run.add(fleet);
      return meets(fleet) ? 'yes' : 'no';
    },
  };
  return { run, port };
}

/** Of all fleets that meet, the cheapest, and of equal cost the one with the fewest GPUs. */
function exhaustive(fleets: readonly Fleet[], meets: (fleet: Fleet) => boolean): Fleet | null {
  let best: Fleet | null = null;
  for (const fleet of fleets.filter(meets)) {
    const isBetter =
      best === null ||
      fleet.costPerHour < best.costPerHour - 1e-9 ||
      (Math.abs(fleet.costPerHour - best.costPerHour) <= 1e-9 && fleet.total < best.total);
    if (isBetter) best = fleet;
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
        const fleets = spaceOf(
          prices.map((price) => price / 8),
          most.slice(0, prices.length),
        );
        const drawn = (stream: typeof verdicts) =>
          new Set(fleets.filter(() => stream.next().value as boolean));
        const [meets, bounded] = [drawn(verdicts), drawn(beyond)];
        const couldMeet = (fleet: Fleet) => [...meets].some((one) => isWithin(one, fleet));
        const { port, run } = portOf(
          (fleet) => meets.has(fleet),
          (fleet) => bounded.has(fleet) && !couldMeet(fleet),
        );
        const { answer } = await cheapest(fleets, port);
        const best = exhaustive(fleets, (fleet) => meets.has(fleet));
        if (best === null) expect(answer).toBeNull();
        else {
          expect(answer!.costPerHour).toBeCloseTo(best.costPerHour, 9);
          expect(answer!.total).toBe(best.total);
          const dearer = [...run].filter((one) => one.costPerHour > best.costPerHour);
          expect(dearer.length).toBeLessThan(8);
        }
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  it('runs none of the fleets that bounds rule out, and asks for few bounds', async () => {
    const fleets = spaceOf([2.48, 0.35], [16, 32]);
    const work = ({ counts }: Fleet) => counts[0]! + counts[1]! * 0.3;
    let asked = 0;
    const { port, run } = portOf(
      (fleet) => work(fleet) >= 9.5,
      (fleet) => {
        asked++;
        return work(fleet) < 9;
      },
    );
    const { answer, ruledOut } = await cheapest(fleets, port);
    expect(answer!.value).toBe('32 × k1');
    expect([...run].every((fleet) => work(fleet) >= 9)).toBe(true);
    expect(ruledOut).toBe(fleets.filter((fleet) => work(fleet) < 9).length);
    expect(asked).toBeLessThan(0.15 * fleets.length);
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
  const priced = ['a', 'b'].map((name) => ({ name, gpus: 1, pricePerHour: 1 }));
  expect(fleetsOf(kinds, priced, 2).map(({ value }) => value)).toEqual(['2 × a', '2 × a + 1 × b']);
});
