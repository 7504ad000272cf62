import { describe, expect, it } from 'vitest';
import { INFER, LOAD, STATUS_OK, STATUS_WORKER_LOST } from '../../src/core/action.js';
import { OUTCOME_OK } from '../../src/core/request.js';
import { POLICIES } from '../../src/policies/registry.js';
import { drawFailures, type GpuFailure } from '../../src/sim/failures.js';
import { type Arrival, ListSource, MS, poisson, type RunOptions, resnets, run } from './fixtures.js';

const fails = (gpu: number, atMs: number, untilMs: number): GpuFailure => ({
  ...{ gpu, atNs: atMs * MS, untilNs: untilMs * MS, isBilled: true },
});

type Options = Pick<RunOptions, 'models' | 'gpus'> &
  Partial<RunOptions> & { readonly failures?: readonly GpuFailure[] };

/** A fixed number of GPUs, some of which fail. */
function simulated(policy: string, arrivals: readonly Arrival[], { failures = [], ...options }: Options) {
  const fleet = {
    kinds: [{ gpus: options.gpus, on: options.gpus, startNs: 0, minLifetimeNs: 0 }],
    ...{ intervalNs: Number.POSITIVE_INFINITY, untilNs: 0, failures, observers: [] },
    decide: () => ({ gpus: [options.gpus], reason: '' }),
  };
  const source = new ListSource(arrivals);
  return run({ policy, source, defaultSloNs: 25 * MS, seed: 1, pages: 22, fleet, ...options });
}

describe('failures', () => {
  it('come at exponentially distributed times, to each GPU by itself', () => {
    const spec = { perNs: 1 / (1000 * MS), repairNs: 100 * MS, isBilled: false };
    const failures = drawFailures([spec], 20, 2e5 * MS, 7);
    // 20 GPUs for 200 s, one failure in 1.1 s each: 3,636, with a standard deviation below 60.
    expect(Math.abs(failures.length - 3636)).toBeLessThan(4 * 60);
    expect(new Set(failures.map(({ gpu }) => gpu)).size).toBe(20);
    expect(failures.map(({ atNs }) => atNs)).toEqual(failures.map(({ atNs }) => atNs).sort((a, b) => a - b));
  });

  it('are refused in numbers that no run needs', () => {
    const spec = { perNs: 1e-3, repairNs: 1, isBilled: true };
    expect(() => drawFailures([spec], 1000, 1e12, 1)).toThrow('draws more than 10000 failures');
  });

  it('that overlap are one', () => {
    const at = (gpu: number, atNs: number, forNs: number) => ({ gpu, atNs, forNs, isBilled: true });
    const specs = [at(0, 10, 5), at(0, 12, 20), at(1, 12, 1), at(0, 32, 1), at(0, 40, 1)];
    const failures = drawFailures(specs, 2, 100, 1);
    expect(failures.map(({ gpu, atNs, untilNs }) => [gpu, atNs, untilNs])).toEqual([
      [0, 10, 33],
      [1, 12, 13],
      [0, 40, 41],
    ]);
  });
});

describe('a GPU that fails', () => {
  it('loses what it runs, which another GPU does in time, and comes back without weights', async () => {
    const one = (ms: number) => ({ timeNs: ms * MS, model: 0, sloNs: 60 * MS });
    const failures = [fails(0, 10, 30)];
    const { actions, answers } = await simulated('fifo', [one(0), one(100)], {
      ...{ gpus: 2, models: resnets(1), failures },
    });
    const lost = actions.filter(({ status }) => status === STATUS_WORKER_LOST);
    expect(lost.map(({ gpu, kind, endNs }) => [gpu, kind, endNs])).toEqual([[0, INFER, 10 * MS]]);
    expect(answers.map(({ outcome }) => outcome)).toEqual([OUTCOME_OK, OUTCOME_OK]);
    const loads = actions.filter(({ kind, status }) => kind === LOAD && status === STATUS_OK);
    expect(loads.length).toBeGreaterThan(1);
  });

  it.each(POLICIES.map(({ kind }) => kind))('costs no answer under %s', async (kind) => {
    const load = { seed: 3, rateRps: 700, durationNs: 2000 * MS, models: 6, slosNs: [30 * MS, 90 * MS] };
    const requests = poisson(load);
    const specs = [{ perNs: 1 / (150 * MS), repairNs: 40 * MS, isBilled: true }];
    const failures = drawFailures(specs, 3, 2000 * MS, 5);
    expect(failures.length).toBeGreaterThan(20);
    const options = { gpus: 3, models: resnets(6), failures, checks: true };
    for (const network of [undefined, { delayNs: MS, jitterNs: MS / 2 }]) {
      const { actions, answers } = await simulated(kind, requests, {
        ...options,
        ...(network && { network }),
      });
      expect(answers).toHaveLength(requests.length);
      // Nothing is sent to a GPU that is gone, and nothing ends on it.
      const ended = actions.filter(({ gpu, status, endNs }) =>
        failures.some(
          (one) => one.gpu === gpu && status === STATUS_OK && endNs > one.atNs && endNs < one.untilNs,
        ),
      );
      expect(ended).toEqual([]);
      expect(actions.some(({ status }) => status === STATUS_WORKER_LOST)).toBe(true);
    }
  });
});
