import fc from 'fast-check';
import { expect, it } from 'vitest';
import { planCharts } from '../../../src/run/plan/charts.js';
import { judge, parseTarget } from '../../../src/run/plan/judge.js';
import type { FleetPlan } from '../../../src/run/plan/plan-result.js';
import { cellResult } from '../sweep/fixtures.js';

/** A plan in which these fleets were run, by price as a plan has them. */
function planOf(target: string, fleets: readonly { readonly cost: number; readonly reached: number }[]) {
  const targets = [parseTarget(target)];
  const [figure] = targets.map((one) => judge(one, [cellResult(50), cellResult(50)]));
  const tried = fleets.map(({ cost, reached }, i) => ({
    ...{
      value: `fleet ${i}`,
      name: `fleet ${i}`,
      meets: 'yes',
      costPerHour: cost,
      gpus: {},
      settings: [],
      attainment: reached,
    },
    figures: [{ ...figure!, estimate: { mean: reached, low: reached, high: reached, n: 2 } }],
  }));
  return {
    minimize: 'cost',
    targets,
    tried,
    answer: null,
    headline: '',
    seeds: [1, 2],
  } as unknown as FleetPlan;
}

interface Layer {
  readonly mark?: { readonly interpolate?: string };
  readonly data?: { readonly values: readonly { readonly x: number; readonly y: number }[] };
}

/** Prices at which the steps of the only chart begin. */
function stepsOf(plan: FleetPlan): number[] {
  const [chart] = planCharts(plan);
  const { layer } = chart!.spec as unknown as { readonly layer: readonly Layer[] };
  const steps = layer.find(({ mark }) => mark?.interpolate === 'step-after');
  return (steps?.data?.values ?? []).map(({ x }) => x);
}

it.each([
  ['attainment>=90%', (a: number, b: number) => a > b],
  ['p99<=100ms', (a: number, b: number) => a < b],
])('the steps of %s are the fleets that no other one beats: compared with all', (target, isBetter) => {
  const fleets = fc.array(
    fc.record({ cost: fc.integer({ min: 1, max: 6 }), reached: fc.constantFrom(0.5, 0.8, 0.9, 0.95) }),
    { minLength: 1, maxLength: 9 },
  );
  fc.assert(
    fc.property(fleets, (drawn) => {
      const sorted = drawn.sort((a, b) => a.cost - b.cost);
      const isBeaten = (one: (typeof drawn)[number]) =>
        drawn.some(
          (other) =>
            (other.cost < one.cost && !isBetter(one.reached, other.reached)) ||
            (other.cost === one.cost && isBetter(other.reached, one.reached)),
        );
      const best = [...new Set(sorted.filter((one) => !isBeaten(one)).map(({ cost }) => cost))];
      expect(stepsOf(planOf(target, sorted))).toEqual(best.length < 2 ? [] : best);
    }),
  );
});

it.each([
  ['attainment>=99%', [0.5, 0.999], undefined],
  ['p99<=100ms', [1, 500], 'the axis is logarithmic'],
])('the chart of %s says so if its axis is not linear', (target, reached, note) => {
  const fleets = reached.map((each, i) => ({ cost: i + 1, reached: each }));
  const [chart] = planCharts(planOf(target, fleets));
  expect(/the axis is logarithmic/.exec(JSON.stringify(chart!.spec))?.[0]).toBe(note);
});
