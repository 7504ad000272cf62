import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScaledKind, Scaler, ScalingView } from '../../src/core/scaler.js';
import { clairvoyantEntry } from '../../src/scalers/clairvoyant.js';
import { Forecast } from '../../src/scalers/forecast.js';
import { Highest } from '../../src/scalers/highest.js';
import { cheapestFleet } from '../../src/scalers/mix.js';
import { predictiveEntry } from '../../src/scalers/predictive.js';
import { reactiveEntry } from '../../src/scalers/reactive.js';
import { requestNs } from '../../src/scalers/work.js';

const S = 1e9;
const MS = 1e6;

const MODEL = {
  name: 'm',
  weightsBytes: 1,
  pages: 1,
  loadNs: 5 * MS,
  batchSizes: [1, 2, 4],
  execNs: [10 * MS, 16 * MS, 28 * MS],
  inputBytes: 1,
  outputBytes: 1,
};

const KIND: ScaledKind = {
  ...{ name: 'gpu', pricePerHour: null, startNs: 60 * S, min: 1, max: 20, speed: 1 },
  ...{ on: 4, starting: 0, draining: 0, execUtilization: 0.6, weightsUtilization: 0 },
};

function view(
  parts: Partial<Omit<ScalingView, 'kinds'>> & { kind?: Partial<ScaledKind>; kinds?: ScaledKind[] } = {},
): ScalingView {
  const { kind = {}, kinds = [{ ...KIND, ...kind }], ...rest } = parts;
  return {
    ...{
      nowNs: 0,
      intervalNs: 10 * S,
      kinds,
      models: [MODEL],
      predictedAttainment: 1,
      ok: 1000,
      answered: 1000,
    },
    ...{ arrivals: new Float64Array([0]), queued: new Float64Array([0]) },
    ...{ reachedNs: new Float64Array([0]), sloNs: new Float64Array([100 * MS]) },
    failed: { refused: 0, timedOut: 0, cold: 0, late: 0, other: 0 },
    ...rest,
  };
}

const options = { utilization: 0.6, queue: 0, tolerance: 0.1, stabilization: 60 * S };
const NO_CONTEXT = { hindsight: [], hindsightNs: 10 * S };
const wanted = (scaler: Scaler, parts: Parameters<typeof view>[0]) => scaler.decide(view(parts)).gpus;

describe('the reactive scaler', () => {
  it('wants the present number times utilization by target, rounded up', () => {
    const scaler = reactiveEntry.create(NO_CONTEXT, options);
    expect(wanted(scaler, { kind: { execUtilization: 0.9 } })).toEqual([6]);
    expect(wanted(scaler, { kind: { execUtilization: 0.65 } }), 'within the tolerance').toEqual([4]);
  });

  it('stops GPUs only when fewer were enough throughout the stabilization', () => {
    const scaler = reactiveEntry.create(NO_CONTEXT, options);
    const at = (seconds: number, execUtilization: number) =>
      wanted(scaler, { nowNs: seconds * S, kind: { execUtilization } })[0];
    expect([at(0, 0.6), at(10, 0.3), at(50, 0.3), at(61, 0.3)]).toEqual([4, 4, 4, 2]);
  });
});

describe('work', () => {
  it('is that of the largest batch that comes together within the SLO', () => {
    // A batch of 4 takes 3 gaps and up to two executions of 28 ms: 100 ms leave 44 ms for the gaps.
    expect(requestNs(MODEL, 3 / 0.043, 100 * MS)).toBe(7 * MS);
    expect(requestNs(MODEL, 3 / 0.045, 100 * MS)).toBe(8 * MS);
    expect(requestNs(MODEL, 0.1, 100 * MS)).toBe(10 * MS);
    expect(requestNs(MODEL, 1e6, 1), 'where nothing fits').toBe(10 * MS);
  });
});

describe('a forecast', () => {
  it('adds what such forecasts were short by', () => {
    const forecast = new Forecast(2);
    for (let i = 0; i < 200; i++) forecast.add(i % 20 === 0 ? 3 : 1);
    // One forecast in twenty sees the next spike.
    expect(forecast.quantile(0.5)).toBeCloseTo(1, 1);
    expect(forecast.quantile(0.97)).toBeCloseTo(3, 1);
  });

  it('follows a jump at once, and noise slowly', () => {
    const forecast = new Forecast(1);
    for (let i = 0; i < 300; i++) forecast.add(i % 2 === 0 ? 9.9 : 10.1);
    forecast.add(10.1);
    expect(forecast.quantile(0)).toBeCloseTo(10, 0);
    forecast.add(15);
    expect(forecast.quantile(0)).toBe(15);
    forecast.add(4);
    expect(forecast.quantile(0)).toBe(4);
  });
});

it('the highest of a window is that of all values in it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(9)), { maxLength: 40 }), fc.nat(12), (steps, window) => {
      const highest = new Highest(window);
      const seen: { at: number; value: number }[] = [];
      let at = 0;
      for (const [gap, value] of steps) {
        at += gap;
        seen.push({ at, value });
        const expected = Math.max(...seen.filter((one) => one.at >= at - window).map((one) => one.value));
        expect(highest.add(value, at)).toBe(expected);
      }
    }),
  );
});

describe('the cheapest fleet', () => {
  // Prices and times are sums of powers of two, so that equal costs are equal.
  const kind = fc.record({
    pricePerHour: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(null)),
    speed: fc.constantFrom(0.25, 0.5, 1, 2),
    min: fc.nat(1),
    max: fc.integer({ min: 1, max: 4 }),
    on: fc.nat(3),
    starting: fc.nat(2),
    startNs: fc.constantFrom(0, 75 * S, 300 * S, 600 * S),
  });
  type Kind = Parameters<typeof cheapestFleet>[0][number];
  const capacityOf = (kinds: readonly Kind[], fleet: readonly number[]) =>
    kinds.reduce((sum, { speed }, i) => sum + speed * fleet[i], 0);
  const costOf = (kinds: readonly Kind[], fleet: readonly number[]) =>
    kinds.reduce((sum, { pricePerHour, on, starting, startNs }, i) => {
      const ordered = Math.max(0, fleet[i] - on - starting);
      return sum + (pricePerHour ?? 1) * (fleet[i] + (ordered * startNs) / (600 * S));
    }, 0);

  it('is the one of all there are: of equal cost with most capacity, then with the fewest of the first kinds', () => {
    fc.assert(
      fc.property(
        fc.array(kind, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 56 }).map((quarters) => quarters / 4),
        (kinds, need) => {
          let all: number[][] = [[]];
          for (const { min, max } of kinds)
            all = all.flatMap((fleet) =>
              Array.from({ length: max - min + 1 }, (_, n) => [...fleet, min + n]),
            );
          const enough = all.filter((fleet) => capacityOf(kinds, fleet) >= need);
          // `all` has the fewest of the first kinds first, and sort keeps that order.
          const [best] = enough.sort(
            (a, b) => costOf(kinds, a) - costOf(kinds, b) || capacityOf(kinds, b) - capacityOf(kinds, a),
          );
          expect(cheapestFleet(kinds, need)).toEqual(best ?? kinds.map(({ max }) => max));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is filled GPU by GPU with the best speed for its price where there are too many to compare', () => {
    const many = kind.map((one) => ({ ...one, max: 200 + one.max }));
    fc.assert(
      fc.property(
        fc.array(many, { minLength: 3, maxLength: 4 }),
        fc.integer({ min: 0, max: 900 }),
        (kinds, need) => {
          const fleet = kinds.map(({ min }) => min);
          while (capacityOf(kinds, fleet) < need) {
            const left = kinds.flatMap(({ max }, i) => (fleet[i] < max ? i : []));
            if (left.length === 0) break;
            const perSpeed = (i: number) => (kinds[i].pricePerHour ?? 1) / kinds[i].speed;
            fleet[left.reduce((best, i) => (perSpeed(i) < perSpeed(best) ? i : best))]++;
          }
          expect(cheapestFleet(kinds, need)).toEqual(fleet);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('the clairvoyant scaler', () => {
  /** Intervals that are paid for when `wants[i]` GPUs are wanted from interval i on, and whether all needs are met. */
  function paidFor(wants: readonly number[], needs: readonly number[], start: number) {
    let paid = 0;
    let met = true;
    const ages: number[] = [];
    wants.forEach((wants, i) => {
      // Orders that have not arrived are called off first: those are the youngest.
      while (ages.length > wants) ages.pop();
      while (ages.length < wants) ages.push(0);
      met &&= ages.filter((age) => age >= start).length >= needs[i];
      paid += ages.length;
      for (let g = 0; g < ages.length; g++) ages[g]++;
    });
    return { paid, met };
  }

  it('pays for the least time that covers the need: compared with all plans there are', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2), { minLength: 3, maxLength: 6 }), fc.nat(2), (later, start) => {
        // What is needed before a GPU can be there can't be had.
        const needs = [...new Array<number>(start).fill(0), ...later];
        const scaler = clairvoyantEntry.create({ ...NO_CONTEXT, hindsight: needs }, { headroom: 1 });
        const kind = { startNs: start * 10 * S, min: 0, max: 2 };
        const plan = needs.map((_, i) => {
          // Its decisions come at the ends of intervals; one at the beginning is the same rule.
          const { gpus } = scaler.decide(view({ nowNs: i * 10 * S, kind }));
          return gpus[0];
        });
        const { paid, met } = paidFor(plan, needs, start);
        expect(met).toBe(true);
        let least = Number.POSITIVE_INFINITY;
        const plans = 3 ** needs.length;
        for (let n = 0; n < plans; n++) {
          const other = needs.map((_, i) => Math.floor(n / 3 ** i) % 3);
          const outcome = paidFor(other, needs, start);
          if (outcome.met) least = Math.min(least, outcome.paid);
        }
        expect(paid).toBe(least);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the predictive scaler', () => {
  const steady = (
    scaler: Scaler,
    requests: number,
    decisions: number,
    from = 0,
    kind: Partial<ScaledKind> = {},
  ) => {
    let gpus = [0];
    for (let i = from; i < from + decisions; i++)
      gpus = [...wanted(scaler, { nowNs: i * 10 * S, arrivals: new Float64Array([requests]), kind })];
    return gpus[0];
  };

  it('orders at once when demand rises, and stops GPUs only after the time that one takes to start', () => {
    const scaler = predictiveEntry.create(NO_CONTEXT, { attainment: 0.99 });
    steady(scaler, 10_000, 40);
    expect(steady(scaler, 15_000, 1, 40, { on: 9 })).toBeGreaterThanOrEqual(12);
    expect(steady(scaler, 2000, 3, 41, { on: 13 }), 'while the rise is still in the window').toBe(13);
    expect(steady(scaler, 2000, 20, 44, { on: 13 })).toBeLessThan(6);
  });

  it('wants another GPU when requests fail, more are predicted to, and no more may', () => {
    const failed = { refused: 100, timedOut: 0, cold: 0, late: 0, other: 0 };
    const at = (hours: number) =>
      predictiveEntry
        .create(NO_CONTEXT, { attainment: 0.99 })
        .decide(view({ nowNs: hours * 3600 * S, ok: 900, failed, predictedAttainment: 0.5 }));
    expect(at(9).gpus).toEqual([5]);
    expect(at(9).reason).toContain('predicted attainment 50 %');
    // Right after the start half of what may fail is left.
    expect(at(0).gpus).toEqual([1]);
  });

  it('keeps GPUs for bursts only when failing in them is more than the target allows', () => {
    const wantedBetweenBursts = (failing: number) => {
      const scaler = predictiveEntry.create(NO_CONTEXT, { attainment: 0.99 });
      let last = 0;
      for (let i = 0; i < 2000; i++) {
        const isBurst = i % 30 === 0;
        const requests = isBurst ? 20_000 : 10_000;
        const ok = requests * (isBurst ? 1 - failing : 1);
        const arrivals = new Float64Array([requests]);
        const parts = { nowNs: i * 10 * S, arrivals, answered: requests, ok, kind: { on: 8 } };
        last = wanted(scaler, parts)[0];
      }
      return last;
    };
    // 7 GPUs between the bursts and 14 in them; a burst has a fifteenth of the requests.
    expect(wantedBetweenBursts(0.1)).toBe(8);
    expect(wantedBetweenBursts(0.5)).toBeGreaterThanOrEqual(14);
  });

  it('keeps a larger reserve after failures, a smaller one after long success', () => {
    const failing = predictiveEntry.create(NO_CONTEXT, { attainment: 0.99 });
    const arrivals = new Float64Array([10_000]);
    let last = 0;
    for (let i = 0; i < 40; i++)
      last = wanted(failing, { nowNs: i * 10 * S, arrivals, ok: 900, kind: { on: 9 } })[0];
    expect(last).toBeGreaterThan(10);
    expect(steady(predictiveEntry.create(NO_CONTEXT, { attainment: 0.99 }), 10_000, 1500)).toBe(8);
  });
});
