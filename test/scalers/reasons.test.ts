import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScaledKind, Scaler, ScalingView } from '../../src/core/scaler.js';
import { Autoscaler } from '../../src/scalers/autoscaler.js';
import { predictiveEntry } from '../../src/scalers/predictive.js';
import { reactiveEntry } from '../../src/scalers/reactive.js';

const S = 1e9;
const MS = 1e6;
const KIND: ScaledKind = {
  ...{ name: 't4', pricePerHour: null, startNs: 60 * S, min: 1, max: 12, speed: 1 },
  ...{ on: 4, starting: 0, draining: 0, execUtilization: 0.6, weightsUtilization: 0 },
};
const MODEL = {
  ...{ name: 'm', weightsBytes: 1, pages: 1, loadNs: 5 * MS, inputBytes: 1, outputBytes: 1 },
  ...{ batchSizes: [1, 2], execNs: [10 * MS, 16 * MS] },
};

interface Step {
  readonly on: number;
  readonly execUtilization: number;
  readonly weightsUtilization: number;
  readonly queued: number;
  readonly arrivals: number;
  readonly failed: number;
  readonly predictedAttainment: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  on: fc.integer({ min: 1, max: 12 }),
  execUtilization: fc.double({ min: 0, max: 1, noNaN: true }),
  weightsUtilization: fc.double({ min: 0, max: 1, noNaN: true }),
  queued: fc.integer({ min: 0, max: 80 }),
  arrivals: fc.integer({ min: 0, max: 6000 }),
  failed: fc.integer({ min: 0, max: 300 }),
  predictedAttainment: fc.double({ min: 0, max: 1, noNaN: true }),
});

function view(one: Step, i: number, kind: Partial<ScaledKind> = {}): ScalingView {
  const { on, execUtilization, weightsUtilization, queued, arrivals, failed, predictedAttainment } = one;
  return {
    nowNs: i * 10 * S,
    intervalNs: 10 * S,
    kinds: [{ ...KIND, on, execUtilization, weightsUtilization, ...kind }],
    models: [MODEL],
    arrivals: new Float64Array([arrivals]),
    queued: new Float64Array([queued]),
    reachedNs: new Float64Array([0]),
    sloNs: new Float64Array([100 * MS]),
    ok: 6000 - failed,
    answered: 6000,
    failed: { refused: failed, timedOut: 0, cold: 0, late: 0, other: 0 },
    predictedAttainment,
  };
}

const NEEDED = /: ([\d.]+) GPUs needed(?:, and up to ([\d.]+) in the last 70 s)?(, .*)?$/;

/** What a reader makes of the end of a reason. */
function readNumber(reason: string, on: number): { readonly need: number; readonly gpus: number } {
  const [, need, highest, limit] = NEEDED.exec(reason) ?? [];
  const counted = Math.ceil(Math.max(Number(need), Number(highest ?? 0)));
  const gpus =
    limit === ', so those that are there stay' ? on : Math.min(KIND.max, Math.max(KIND.min, counted));
  if (limit === ', more than max allows') expect(counted).toBeGreaterThan(KIND.max);
  else if (limit === ', fewer than min') expect(counted).toBeLessThan(KIND.min);
  else expect(limit === undefined || counted > on).toBe(true);
  return { need: Number(need), gpus };
}

/** Relative to the number of GPUs: what is said has two decimals. */
const near = (a: number, b: number) => expect(Math.abs(a - b)).toBeLessThan(0.05 + 0.005 * Math.max(a, b));

function decideAll(scaler: Scaler, steps: readonly Step[], read: (reason: string, on: number) => void) {
  steps.forEach((one, i) => {
    const { gpus, reason } = scaler.decide(view(one, i));
    expect(readNumber(reason, one.on).gpus, reason).toBe(gpus[0]);
    read(reason, one.on);
  });
}

describe('a reader of a reason gets the same number of GPUs', () => {
  it('from utilization or queue, target, tolerance, and the highest of the last while', () => {
    const options = { utilization: 0.6, queue: 5, tolerance: 0.1, stabilization: 70 * S };
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        const scaler = reactiveEntry.create({ hindsight: [], hindsightNs: S }, options);
        decideAll(scaler, steps, (reason, on) => {
          const [, busy, target, tolerance] =
            /^(?:EXEC )?([\d.]+) .*\(target ([\d.]+)(?: %)?(, which is within 10 %)?\)/.exec(reason) ?? [];
          const ratio = tolerance === undefined ? Number(busy) / Number(target) : 1;
          near(readNumber(reason, on).need, ratio * on);
          expect(reason).toContain(` on ${on}.00 GPUs: `);
        });
      }),
    );
  });

  it('from what is enough in most forecasts, the reserve, and what else is short', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
        const scaler = predictiveEntry.create({ hindsight: [], hindsightNs: S }, { attainment: 0.99 });
        decideAll(scaler, steps, (reason, on) => {
          const [, expected] = / GPUs, ([\d.]+) (?:enough|taken)/.exec(reason) ?? [];
          const [, reserve, root] = /reserve ([\d.]+) × √([\d.]+)/.exec(reason) ?? [];
          expect(root).toBe(expected);
          const more = /busy: one more than ([\d.]+)|%: one more than ([\d.]+)/.exec(reason);
          const byForecast = Number(expected) + Number(reserve) * Math.sqrt(Number(expected));
          near(readNumber(reason, on).need, more === null ? byForecast : Number(more[1] ?? more[2]) + 1);
          expect(reason).toContain(' left of the failures that 99 % in time allows), ');
        });
      }),
    );
  });

  it('from the demand now, which is that of the arrivals in batches', () => {
    const scaler = predictiveEntry.create({ hindsight: [], hindsightNs: S }, { attainment: 0.99 });
    const one = { on: 4, execUtilization: 0, weightsUtilization: 0, queued: 0, failed: 0 };
    // 300/s in batches of two, 8 ms each: 2.4 GPU-seconds per second.
    const { reason } = scaler.decide(view({ ...one, arrivals: 3000, predictedAttainment: 1 }, 1));
    expect(reason).toMatch(/^demand 2\.40 GPUs, 3\.60 taken as enough until there are forecasts/);
  });
});

it('a reason says which GPUs are kept only because they were ordered lately', () => {
  const wishes = [3, 1];
  const scaler = { name: 'any', decide: () => ({ gpus: [wishes.shift()!], reason: 'any' }) };
  const autoscaler = new Autoscaler(scaler, [{ ...KIND, minLifetimeNs: 60 * S }], 10 * S);
  const cluster = { kinds: 1, models: [], hasModel: () => false };
  autoscaler.follow({ cluster, requests: { state: [], model: [] } } as never);
  const count = (on: number) => [{ on, starting: 0, draining: 0 }];
  expect(autoscaler.decide(count(1), 10 * S)).toEqual({ gpus: [3], reason: 'any' });
  expect(autoscaler.decide(count(3), 20 * S)).toEqual({
    gpus: [2],
    reason: 'any; minLifetime keeps 1 × t4 more',
  });
});
