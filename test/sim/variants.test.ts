import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../src/core/model.js';
import { OUTCOME_OK, OUTCOME_REJECTED } from '../../src/core/request.js';
import { POLICIES } from '../../src/policies/registry.js';
import type { DrawnPipeline } from '../../src/sim/fan-out.js';
import { type Arrival, ListSource, MS, poisson, resnets, run } from './fixtures.js';

/** A model whose INFERs take this long, in batches of one and of four. */
function model(name: string, ms: number): ModelSpec {
  const execNs = [ms * MS, 3 * ms * MS];
  return { ...resnets(1)[0]!, name, pages: 1, loadNs: MS / 10, batchSizes: [1, 4], execNs };
}

const MODELS = [model('best', 10), model('good', 4), model('fast', 1)];
const ACCURACY = [0.9, 0.8, 0.6];
const VARIANTS = ACCURACY.map((accuracy, index) => ({ model: index, accuracy }));
const ONE = { kind: 'constant', value: 1 } as const;

function step(after: readonly number[] = [], more: object = {}): DrawnPipeline['steps'][number] {
  const common = { id: `step-${after.length}`, model: 0, after, least: 1, mean: 1, budget: 1 };
  return { ...common, fanOut: ONE, probability: 1, variants: VARIANTS, ...more };
}

/** Runs a pipeline on one GPU that has served all variants before; models chosen by request, and accuracies. */
async function chosen(steps: DrawnPipeline['steps'], arrivals: readonly Arrival[], policy = 'edf') {
  const pipelines: DrawnPipeline[] = [{ name: 'chain', split: 'slack', steps }];
  // One request of each model, so that all are warm.
  const first = MODELS.map((_, index) => ({ timeNs: 0, model: index, sloNs: 1000 * MS }));
  const { answers, simulator } = await run({
    ...{ models: MODELS, gpus: 1, pages: 10, defaultSloNs: 50 * MS, seed: 1, policy, pipelines },
    ...{ admission: 'predict', checks: true },
    source: new ListSource([
      ...first,
      ...arrivals.map((each) => ({ ...each, timeNs: each.timeNs + 100 * MS })),
    ]),
  });
  expect(simulator.controller.requests.size).toBe(0);
  return answers.filter(({ user }) => user >= MODELS.length);
}

const at = (ms: number, sloMs: number): Arrival => ({
  timeNs: ms * MS,
  model: MODELS.length,
  sloNs: sloMs * MS,
});
const byUser = <T extends { readonly user: number }>(list: readonly T[]) =>
  list.toSorted((a, b) => a.user - b.user);

describe('a request with variants', () => {
  it('gets the most accurate one that can end by its deadline', async () => {
    const answers = await chosen([step()], [at(0, 100), at(200, 10), at(400, 4)]);
    const steps = byUser(answers.filter(({ parent }) => parent >= 0));
    expect(steps.map((each) => each.model)).toEqual([0, 1, 2]);
    const whole = byUser(answers.filter(({ parent }) => parent < 0));
    expect(whole.map(({ outcome, accuracy }) => [outcome, accuracy])).toEqual(
      ACCURACY.map((accuracy) => [OUTCOME_OK, accuracy]),
    );
  });

  it('gets a faster one behind others, and is refused when even that would be late', async () => {
    const answers = await chosen(
      [step()],
      Array.from({ length: 200 }, () => at(0, 45)),
    );
    const models = byUser(answers.filter(({ parent }) => parent >= 0)).map((each) => each.model);
    expect(models[0]).toBe(0);
    expect(models).toEqual(models.toSorted((a, b) => a - b));
    expect(new Set(models)).toEqual(new Set([0, 1, 2]));
    const whole = answers.filter(({ parent }) => parent < 0);
    for (const wanted of [OUTCOME_OK, OUTCOME_REJECTED])
      expect(whole.filter(({ outcome }) => outcome === wanted).length).toBeGreaterThan(20);
  });

  it('has the product of the mean accuracies of its steps', async () => {
    const two = { id: 'crops', fanOut: { kind: 'constant', value: 2 }, least: 2, mean: 2 };
    // Time for the best, then for one of the best and one that is faster.
    const answers = await chosen([step(), step([0], two)], [at(0, 35)]);
    const own = answers.filter(({ parent }) => parent >= 0).map(({ accuracy }) => accuracy);
    const whole = answers.find(({ parent }) => parent < 0)!;
    expect(own).toHaveLength(3);
    expect(new Set(own).size).toBeGreaterThan(1);
    expect(whole.accuracy).toBeCloseTo((own[0]! * (own[1]! + own[2]!)) / 2, 12);
  });

  it.each(POLICIES.map(({ kind }) => kind))(
    'with one variant is served as its model alone: %s',
    async (policy) => {
      const models = resnets(3);
      const world = { models, gpus: 1, pages: 14, defaultSloNs: 50 * MS, seed: 1, policy } as const;
      const arrivals = poisson({ seed: 2, rateRps: 300, durationNs: 500 * MS, models: 3, slosNs: [50 * MS] });
      const digestOf = async (hasVariants: boolean) => {
        const steps = models.map((_, index) =>
          step([], { model: index, variants: hasVariants ? [{ model: index, accuracy: 0.5 }] : undefined }),
        );
        const pipelines = steps.map(
          (only, i): DrawnPipeline => ({
            ...{ name: `only-${i}`, split: 'slack', steps: [only] },
          }),
        );
        const source = new ListSource(arrivals.map((each) => ({ ...each, model: each.model + 3 })));
        return (await run({ ...world, pipelines, source })).digest;
      };
      expect(await digestOf(true)).toBe(await digestOf(false));
    },
  );
});
