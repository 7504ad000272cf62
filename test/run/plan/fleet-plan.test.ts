import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { planFleet } from '../../../src/run/plan/fleet-plan.js';
import type { FleetPlan } from '../../../src/run/plan/fleet-result.js';
import { fleetText } from '../../../src/run/plan/fleet-text.js';
import { judge, parseTarget } from '../../../src/run/plan/judge.js';
import { simulate } from '../../../src/run/simulated.js';
import type { CellRunner } from '../../../src/run/sweep/pool.js';
import { boundCell, runCell } from '../../../src/run/sweep/run-cell.js';
import { tempDir } from '../../cli/run-cli.js';

const TARGET = 'attainment>=90%';

const experiment = (rate: number, slo: string, tail = '') => `
cluster:
  gpus:
    - { kind: fast, count: 1, memory: 1GiB, price: 2/h }
    - { kind: slow, count: 1, memory: 512MiB, price: 0.4/h, speed: 0.3 }
models: { kind: fit, name: m, parameters: 25M, copies: 4 }
workload: { kind: poisson, rate: ${rate}/s, duration: 1s }
slo: ${slo}
policy: { kind: escapement }
warmup: 100ms
output: { timeline: false }
${tail}`;

async function planOf(text: string, over = 'cluster.gpus.fast=0:3,cluster.gpus.slow=0:5', target = TARGET) {
  const file = join(tempDir(), 'experiment.yaml');
  writeFileSync(file, text);
  const runner: CellRunner = {
    capacity: 1,
    run: (task, job) => (job === 'boundCell' ? boundCell(task) : runCell(task)),
    close: async () => {},
  };
  let runs = 0;
  const plan = await planFleet({
    ...{ file, targets: [target], seeds: '1,2,3,4', overrides: [], over, outDir: undefined, fresh: false },
    ...{ openRunner: () => runner, version: '1', onStart: () => {} },
    onRun: () => {
      runs++;
    },
  });
  return { plan, runs };
}

/** The cheapest of all fleets that meet, each run by itself as the only one of its range. */
async function cheapestOfAll(text: string): Promise<number | null> {
  let cheapest: number | null = null;
  for (let fast = 0; fast <= 3; fast++) {
    for (let slow = fast === 0 ? 1 : 0; slow <= 5; slow++) {
      const costs = 2 * fast + 0.4 * slow;
      if (cheapest !== null && costs >= cheapest) continue;
      if (await meets(text, fast, slow)) cheapest = costs;
    }
  }
  return cheapest;
}

async function meets(text: string, fast: number, slow: number): Promise<boolean> {
  const results = await Promise.all(
    [1, 2, 3, 4].map(async (seed) => {
      const counts = [`cluster.gpus.fast=${fast}`, `cluster.gpus.slow=${slow}`];
      return simulate(await parseExperiment(text, 'experiment.yaml', [...counts, `seed=${seed}`]));
    }),
  );
  return judge(parseTarget(TARGET), results).meets === 'yes';
}

it.each([
  [150, '60ms'],
  [400, '30ms'],
  [700, '100ms'],
  [900, '20ms'],
])(
  'finds for %d requests/s within %s what a run of every fleet finds, with fewer runs',
  async (rate, slo) => {
    const text = experiment(rate, slo);
    const { plan, runs } = await planOf(text);
    const chosen = plan.tried.find(({ value }) => value === plan.answer);
    expect(chosen?.costPerHour ?? null).toBe(await cheapestOfAll(text));
    expect(plan.effort).toMatchObject({ fleets: 24, runsOfAll: 96 });
    expect(runs).toBeGreaterThanOrEqual(plan.effort.runs);
    expect(plan.effort.runs).toBeLessThan(0.75 * plan.effort.runsOfAll);
  },
);

it('says what the answer costs, how much was run for it, and how to run it', async () => {
  const { plan } = await planOf(experiment(150, '60ms'));
  const text = fleetText(plan);
  expect(plan.headline).toMatch(/^Cheapest fleet with attainment>=90%: [1-5] × slow, \d\.\d\d per hour$/);
  expect(text).toMatch(/\d+ runs instead of 96: \d+ of 24 fleets were run/);
  expect(text).toMatch(/per million requests in time/);
  expect(text).toMatch(/deploy: --set cluster\.gpus\.fast=0 --set cluster\.gpus\.slow=\d\n$/);
});

it('names the whole fleet, also the kinds that it does not choose', async () => {
  const { plan } = await planOf(experiment(400, '60ms'), 'cluster.gpus.slow=1:3');
  expect(plan.answer).toBe('1 × slow + 1 × fast');
  expect(plan.tried.map(({ value, costPerHour }) => [value, costPerHour.toFixed(1)])).toContainEqual([
    '3 × slow + 1 × fast',
    '3.2',
  ]);
  expect(fleetText(plan)).toMatch(/deploy: --set cluster\.gpus\.slow=1\n$/);
});

it('runs no fleet with which no scheduler could meet the target', async () => {
  const { plan } = await planOf(experiment(40_000, '30ms'));
  expect(plan).toMatchObject({
    outcome: 'none',
    answer: null,
    closest: null,
    tried: [],
  } satisfies Partial<FleetPlan>);
  expect(fleetText(plan)).toContain('no scheduler could meet the target with any of them');
});

it.each([
  [
    'cluster.gpus.fsat=0:3',
    /--over cluster\.gpus\.fsat=0:3: no GPUs are of the kind "fsat": did you mean "fast"\?/,
  ],
  ['cluster.gpus=0:3', /ranges are of kinds of GPUs/],
])('refuses --over %s', async (over, message) => {
  await expect(planOf(experiment(100, '60ms'), over)).rejects.toThrow(message);
});

it('needs a price for every kind', async () => {
  const text = experiment(100, '60ms').replace(', price: 0.4/h', '');
  await expect(planOf(text)).rejects.toThrow(
    /--minimize cost: GPUs of kind slow have no price in .*: add one to cluster\.gpus, e\.g\. price: 0\.35\/h/,
  );
});

it('says which fleet more seeds may settle where none meets surely', async () => {
  const text = experiment(900, '20ms');
  const over = 'cluster.gpus.fast=2:3,cluster.gpus.slow=0:1';
  const { plan: first } = await planOf(text, over, 'goodputRps>=880');
  const estimates = first.tried.flatMap(({ figures }) => figures[0]?.estimate ?? []);
  const [mean, low] = (['mean', 'low'] as const).map((of) => Math.max(...estimates.map((one) => one[of])));
  const { plan } = await planOf(text, over, `goodputRps>=${((mean! + low!) / 2).toFixed(3)}`);
  expect(plan.outcome).toBe('none');
  const unsure = plan.tried.find(({ meets }) => meets === 'unsure');
  expect(plan.notes).toContain(
    `${unsure!.value} would do on average, not with confidence: more seeds may settle it`,
  );
});
