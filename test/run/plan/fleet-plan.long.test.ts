import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import type { CellResult } from '../../../src/record/results.js';
import { planText } from '../../../src/run/plan/document.js';
import { judge, parseTarget } from '../../../src/run/plan/judge.js';
import { makePlan } from '../../../src/run/plan/plan.js';
import type { Plan } from '../../../src/run/plan/plan-result.js';
import { simulate } from '../../../src/run/simulated.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import { boundCell, type CellOutcome, runCell } from '../../../src/run/sweep/run-cell.js';
import { tempDir } from '../../cli/run-cli.js';

const TARGET = 'attainment>=90%';
const OVER = 'cluster.gpus.fast=0:3,cluster.gpus.slow=0:5';

const experiment = (rate: number, slo: string, tail = '') => `
cluster:
  gpus:
    - { kind: fast, count: 1, memory: 1GiB, price: 2/h }
    - { kind: slow, count: 1, memory: 512MiB, price: 0.4/h, speed: 0.3 }
models: { kind: fit, name: m, parameters: 25M, copies: 4 }
workload: { kind: poisson, rate: ${rate}/s, duration: 1s }
slo: ${slo}
warmup: 100ms
output: { timeline: false }
${tail}`;

/** Runs cells in this thread, and each of them once. */
function runnerOf() {
  const outcomes = new Map<string, Promise<CellOutcome>>();
  const runner: CellRunner = {
    run: (task, job = 'runCell') => {
      const name = `${job} ${task.overrides.join(' ')}`;
      const outcome =
        outcomes.get(name) ?? (job === 'boundCell' ? boundCell(task) : runCell({ ...task, metrics: [] }));
      outcomes.set(name, outcome);
      return outcome;
    },
    width: 2,
    close: async () => {},
  };
  return { runner, outcomes };
}

async function planOf(
  text: string,
  {
    over = OVER,
    targets = [TARGET],
    seeds = '1,2,3,4',
    overrides = [] as string[],
    runner = runnerOf().runner,
  } = {},
) {
  const file = join(tempDir(), 'experiment.yaml');
  writeFileSync(file, text);
  let runs = 0;
  const plan = await makePlan({
    ...{
      file,
      targets,
      seeds,
      overrides,
      over,
      outDir: undefined,
      fresh: false,
      survives: false,
      asksWhatIf: false,
      minimize: 'cost',
      prefer: null,
    },
    ...{ runner, version: '1', onStart: () => {} },
    onUnit: ({ job }) => {
      if (job === 'runCell') runs++;
    },
  });
  return { plan, runs };
}

/** For FIFO, a slow GPU can spoil what fast ones serve; costs rise with more GPUs, and other figures with fewer. */
const TARGETS = [
  ...['50%', '80%', '90%', '95%', '97%', '98%', '99%', '99.9%'].map((share) => `attainment>=${share}`),
  ...['goodputRps>=200', 'goodputRps>=290', 'p50<=12ms', 'p90<=25ms', 'p99<=29ms', 'executedP99<=20ms'],
  ...['costPerMillion<=1.2', 'costPerMillion<=4', 'coldStarts<=10', 'execUtilization>=60%'],
];

it.each(['fifo', 'escapement'])(
  'finds for every target what a run of every fleet finds, with %s',
  async (policy) => {
    const text = experiment(300, '30ms', `policy: { kind: ${policy} }`);
    const { runner } = runnerOf();
    const results = new Map<string, CellResult[]>();
    for (let fast = 0; fast <= 3; fast++) {
      for (let slow = fast === 0 ? 1 : 0; slow <= 5; slow++) {
        const counts = [`cluster.gpus.fast=${fast}`, `cluster.gpus.slow=${slow}`];
        const runs = [1, 2].map(async (seed) =>
          simulate(await parseExperiment(text, 'experiment.yaml', [...counts, `seed=${seed}`])),
        );
        results.set(`${fast} ${slow}`, (await Promise.all(runs)) as unknown as CellResult[]);
      }
    }
    for (const target of TARGETS) {
      let best: string | null = null;
      const costOf = (name: string) =>
        name.split(' ').reduce((sum, n, kind) => sum + Number(n) * [2, 0.4][kind]!, 0);
      for (const [name, runs] of results) {
        if (judge(parseTarget(target), runs).meets !== 'yes') continue;
        if (best === null || costOf(name) < costOf(best)) best = name;
      }
      const { plan, runs } = await planOf(text, { targets: [target], seeds: '1,2', runner });
      const chosen = plan.tried.find(({ value }) => value === plan.answer);
      const found = chosen === undefined ? null : `${chosen.gpus!.fast} ${chosen.gpus!.slow}`;
      expect(found, target).toBe(best);
      expect(plan.effort, target).toMatchObject({ candidates: 23, runs, run: plan.tried.length });
      expect(runs).toBe(2 * plan.tried.length);
      expect(plan.effort.run + plan.effort.ruledOut + plan.effort.spared).toBe(23);
    }
  },
);

it('says what the answer costs, how much was run for it, and how to run it', async () => {
  const { plan } = await planOf(experiment(150, '60ms'));
  const text = planText(plan);
  expect(plan.headline).toMatch(/^Cheapest fleet with attainment>=90%: [1-5] × slow, \d\.\d\d per hour$/);
  expect(text).toMatch(/^8 of 23 fleets ran, 32 runs; upper bounds rule out 1$/m);
  expect(text).toMatch(/^fleet +attainment>=90% +per hour +per million in time +meets$/m);
  expect(text).toMatch(/^--set cluster\.gpus\.fast=0 --set cluster\.gpus\.slow=\d\n$/m);
});

it('says how sure the answer is after so many fleets', async () => {
  const confidenceOf = async (seeds: string) => {
    const { plan } = await planOf(experiment(321, '30ms'), { seeds });
    return [plan.answer, plan.confidence];
  };
  expect(await Promise.all(['1', '1,2', '1:9:1'].map(confidenceOf))).toEqual([
    ['4 × slow', null],
    ['4 × slow', { compared: 2, isSure: false, sure: '5 × slow' }],
    ['4 × slow', { compared: 2, isSure: true, sure: '4 × slow' }],
  ]);
  const { plan } = await planOf(experiment(20, '60ms'), { targets: ['attainment>=80%'], seeds: '1:2' });
  // Seeds without a miss, by the number of their requests.
  expect(plan.confidence).toMatchObject({ isSure: true });
});

it('names the whole fleet, also the kinds that it does not choose', async () => {
  const { plan } = await planOf(experiment(400, '60ms'), { over: 'cluster.gpus.slow=1:3' });
  expect(plan.answer).toBe('1 × slow + 1 × fast');
  expect(plan.tried.map(({ value, costPerHour }) => [value, costPerHour!.toFixed(1)])).toContainEqual([
    '3 × slow + 1 × fast',
    '3.2',
  ]);
  expect(planText(plan)).toMatch(/^--set cluster\.gpus\.slow=1$/m);
});

it('runs no fleet with which no scheduler could meet the target', async () => {
  const { plan } = await planOf(experiment(8_000, '30ms'));
  expect(plan).toMatchObject({
    outcome: 'none',
    answer: null,
    closest: null,
    tried: [],
  } satisfies Partial<Plan>);
  expect(planText(plan)).toContain('no scheduler could meet it with any of the fleets, by upper bounds');
});

it.each([
  [
    'cluster.gpus.fsat=0:3',
    /--over cluster\.gpus\.fsat=0:3: no GPUs are of the kind "fsat": did you mean "fast"\?/,
  ],
  ['cluster.gpus=0:3', /ranges are of kinds of GPUs/],
])('refuses --over %s', async (over, message) => {
  await expect(planOf(experiment(100, '60ms'), { over })).rejects.toThrow(message);
});

it('needs a price for every kind', async () => {
  const text = experiment(100, '60ms').replace(', price: 0.4/h', '');
  await expect(planOf(text)).rejects.toThrow(
    /--minimize cost: GPUs of kind slow have no price in .*: add one to cluster\.gpus, e\.g\. price: 0\.35\/h/,
  );
});
