import { describe, expect, it } from 'vitest';
import type { PipelineStep, Split } from '../../src/core/pipelines.js';
import { SPLITS } from '../../src/core/pipelines.js';
import { OUTCOME_LATE, OUTCOME_OK, OUTCOME_REJECTED, OUTCOME_TIMEOUT } from '../../src/core/request.js';
import { LIMIT_NONE, LIMIT_PIPELINE } from '../../src/core/tenants.js';
import { POLICIES } from '../../src/policies/registry.js';
import type { DrawnPipeline, FanOut } from '../../src/sim/fan-out.js';
import { Simulator } from '../../src/sim/index.js';
import {
  type ActionRecord,
  createPolicy,
  keepRecords,
  ListSource,
  MS,
  poisson,
  resnets,
  run,
} from './fixtures.js';

type Step = DrawnPipeline['steps'][number];

const ONE: FanOut = { kind: 'constant', value: 1 };

function step(model: number, after: readonly number[] = [], more: Partial<Step> = {}): Step {
  const common: PipelineStep = { id: `step-${model}`, model, after, least: 1, mean: 1, budget: 1 };
  return { ...common, fanOut: ONE, probability: 1, ...more };
}

function pipeline(steps: readonly Step[], split: Split = 'slack'): DrawnPipeline {
  return { name: 'pipeline', split, steps };
}

/** Three models on one idle GPU that holds them; a request of one at a time takes 2.73 ms. */
const BASE = {
  models: resnets(3),
  gpus: 1,
  pages: 1376,
  defaultSloNs: 100 * MS,
  seed: 1,
  policy: 'edf',
} as const;

/** Requests of the first pipeline, one every 100 ms. */
function requests(count: number, sloNs = 100 * MS, models = BASE.models.length) {
  const arrivals = Array.from({ length: count }, (_, i) => ({ timeNs: i * 100 * MS, model: models, sloNs }));
  return new ListSource(arrivals);
}

describe('a pipeline', () => {
  const FIELDS = ['id', 'kind', 'gpu', 'model', 'count', 'beginNs', 'endNs', 'status', 'latestNs'] as const;
  const what = (action: ActionRecord) => FIELDS.map((field) => action[field]);

  it.each(POLICIES.map(({ kind }, i) => [kind, SPLITS[i % SPLITS.length]!] as const))(
    'of one step is served as its model alone, action for action: %s, split %s',
    async (policy, split) => {
      const models = resnets(15);
      const noise = { exec: 0.1, load: 0, stragglers: 0.02, stragglerFactor: 5 };
      const world = { ...BASE, models, pages: 40, policy, admission: 'predict', noise } as const;
      const load = { seed: 1, rateRps: 1500, durationNs: 400 * MS, models: 15, slosNs: [20 * MS, 90 * MS] };
      const arrivals = poisson(load);
      const alone = await run({ ...world, source: new ListSource(arrivals) });
      const chained = await run({
        ...world,
        pipelines: models.map((_, model) => pipeline([step(model)], split)),
        source: new ListSource(arrivals.map((each) => ({ ...each, model: each.model + 15 }))),
      });
      expect(chained.actions.map(what)).toEqual(alone.actions.map(what));
      const ended = chained.answers.filter(({ model }) => model >= 15);
      expect(ended.map(({ user, outcome, nowNs }) => [user, outcome, nowNs])).toEqual(
        alone.answers.map(({ user, outcome, nowNs }) => [user, outcome, nowNs]),
      );
    },
  );

  it('is given up between steps once those that remain take longer than its deadline allows', async () => {
    // The first step takes ten times as long as profiled, after a LOAD of 8.31 ms: 36 of 37 ms are over then.
    const steps = [step(0), step(1, [0])];
    const noise = { exec: 0, load: 0, stragglers: 0, stragglerFactor: 1, scale: { 'resnet50-0': 10 } };
    const source = requests(1, 37 * MS);
    const { answers } = await run({
      ...BASE,
      pipelines: [pipeline(steps)],
      noise,
      admission: 'none',
      source,
    });
    expect(answers.map(({ model, outcome }) => [model, outcome])).toEqual([
      [0, OUTCOME_LATE],
      [3, OUTCOME_TIMEOUT],
    ]);
    expect(answers[1]!.limit).toBe(LIMIT_PIPELINE);
  });

  it.each([0, 5])('that its client leaves after %d ms withdraws what waits of it', async (ms) => {
    const steps = [step(0), step(1, [0])];
    const left: number[] = [];
    const { answers, simulator } = await run({
      ...BASE,
      pipelines: [pipeline(steps)],
      source: new ListSource([{ timeNs: 0, model: 3, sloNs: 90 * MS }], () => ms * MS),
      cancelled: ({ model }, slot) => left.push(model[slot]!),
    });
    expect(left).toContain(3);
    expect(answers.some(({ model }) => model === 3)).toBe(false);
    expect(simulator.controller.requests.size).toBe(0);
  });
});

describe('admission by prediction', () => {
  const many = step(0, [], { fanOut: { kind: 'constant', value: 100 }, least: 100, mean: 100 });
  const pipelines = [pipeline([many, step(1, [0])]), pipeline([step(0), step(1, [0])])];

  it('lets requests begin whose SLO is too short for LOADs, so that the next ones find their models', async () => {
    const chain = [pipeline([step(0), step(1, [0])])];
    const { answers } = await run({
      ...{ ...BASE, pipelines: chain, admission: 'predict' as const },
      source: requests(6, 9 * MS),
    });
    const own = answers.filter(({ model }) => model === 3).sort((a, b) => a.user - b.user);
    expect(own.map(({ outcome }) => outcome).slice(-2)).toEqual([OUTCOME_OK, OUTCOME_OK]);
  });

  it.each([
    [
      'that was done',
      [
        [0, 3, 450],
        [0, 3, 450],
        [0, 3, 450],
        [240, 3, 450],
        [240, 3, 450],
        [260, 4, 450],
      ],
      [0, 0, 0, 0, 0, 0],
    ],
    [
      'of requests that were refused',
      [
        [0, 3, 1],
        [100, 4, 100],
      ],
      [OUTCOME_REJECTED, 0],
    ],
  ] as const)('no longer counts work %s', async (_name, arrivals, outcomes) => {
    const source = new ListSource(
      arrivals.map(([ms, model, sloMs]) => ({ timeNs: ms * MS, model, sloNs: sloMs * MS })),
    );
    const { answers } = await run({ ...BASE, pipelines, admission: 'predict', source });
    const own = answers.filter(({ model }) => model >= 3).sort((a, b) => a.user - b.user);
    expect(own.map(({ outcome }) => outcome)).toEqual(outcomes);
  });
});

describe('a pipeline of which a model is retired', () => {
  it('is given up before the step that needs it, and from then on refused on arrival', async () => {
    const { answers, observer } = keepRecords();
    const steps = [step(0), step(1, [0]), step(2, [0], { probability: 0.5, least: 0, mean: 0.5 })];
    const world = { ...BASE, pipelines: [pipeline(steps)], checks: true };
    const simulator = new Simulator({
      ...{ ...world, createPolicy: createPolicy('edf'), source: requests(4), observer },
    });
    await simulator.advance(101 * MS);
    simulator.controller.retireModel(1);
    await simulator.run();
    const own = answers.filter(({ model }) => model === 3);
    expect(own.map(({ user, outcome, limit }) => [user, outcome, limit])).toEqual([
      [0, OUTCOME_OK, LIMIT_NONE],
      [1, OUTCOME_TIMEOUT, LIMIT_PIPELINE],
      [2, OUTCOME_REJECTED, LIMIT_NONE],
      [3, OUTCOME_REJECTED, LIMIT_NONE],
    ]);
    expect(answers.filter(({ user, model }) => user > 0 && model < 3).map(({ model }) => model)).toEqual([0]);
    expect([simulator.controller.requests.size, simulator.controller.emptySlot]).toEqual([0, 1]);
  });
});
