import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { POLICIES } from '../../src/policies/registry.js';
import type { AzureLikeSpec } from '../../src/workload/spec.js';
import { GROWTH, growthCases } from './cases.js';
import type { Run, RunChoice } from './child.js';
import { benchPolicies, GROWTH_CASES, type PolicyLine, SHORT_CASES } from './policies.js';

const RUN: Run = {
  ...{ requests: 7, events: 14, seconds: 1, cpuSeconds: 0.0035, processedRps: 1e6, peakRssBytes: 5e6 },
  ...{ digest: 'd', attainment: 0.5 },
};

it('compares policies within a round, whatever the rounds took', () => {
  const seen: RunChoice[] = [];
  const lines: PolicyLine[] = [];
  const run = (choice: RunChoice): Run => {
    // The machine is half as fast in the second round; fifo takes a quarter of the time of all others.
    const isSecondRound = Math.floor(seen.length / POLICIES.length) % 3 === 1;
    const isFifo = choice.overrides.some((text) => text.includes('fifo'));
    seen.push(choice);
    return { ...RUN, processedRps: (isFifo ? 4e6 : 1e6) / (isSecondRound ? 2 : 1) };
  };
  benchPolicies(SHORT_CASES, 3, '', (line) => lines.push(line), run);

  expect(seen).toHaveLength(2 * 3 * POLICIES.length);
  expect(seen[0].overrides).toEqual(['workload.duration=1000s']);
  const of = (name: string) => lines.filter(({ policy }) => policy === name);
  for (const { kind } of POLICIES) expect(of(kind).map((line) => line.case)).toHaveLength(2);
  expect(of('clockwork')[0]).toMatchObject({ runs: 3, processedRps: 1e6, usPerRequest: 1, ratio: 1 });
  expect(of('fifo')[0]).toMatchObject({ processedRps: 4e6, usPerRequest: 0.25, ratio: 0.25 });
  const cpu = { cpuUsPerRequest: 500, cpuUsPerEvent: 250, peakRssMB: 5, attainment: 0.5, digest: 'd' };
  expect(of('fifo')[0]).toMatchObject(cpu);
});

it('runs only the cases asked for', () => {
  const names = new Set<string>();
  const run = ({ name }: RunChoice): Run => {
    names.add(name);
    return RUN;
  };
  benchPolicies([...SHORT_CASES, ...GROWTH_CASES], 1, '-1', () => {}, run);
  expect([...names]).toEqual(['15-models-1-gpu', 'growth-1', 'growth-10', 'growth-100', 'growth-1000']);
});

it('each case of growth asks as much of each GPU, and about as much in all, of 15 models per 4 GPUs', async () => {
  const loads = await Promise.all(
    growthCases().map(async ({ experiment }) => {
      const { cluster, workloads, models } = await parseExperiment(experiment, 'bench.yaml');
      const [{ rateRps, minutes, intervalNs }] = workloads as readonly AzureLikeSpec[];
      return { gpus: cluster.gpus, rateRps, seconds: (minutes * intervalNs) / 1e9, models: models.length };
    }),
  );
  expect(loads.map(({ gpus }) => gpus)).toEqual(GROWTH);
  expect(loads.map(({ rateRps, gpus }) => rateRps / gpus)).toEqual(loads.map(() => 300));
  for (const { rateRps, seconds, models, gpus } of loads) {
    expect(rateRps * seconds).toBeGreaterThanOrEqual(200_000);
    expect(rateRps * seconds).toBeLessThanOrEqual(300_000);
    expect(models).toBeGreaterThanOrEqual(3.75 * gpus);
    expect(models).toBeLessThan(3.75 * gpus + 61);
  }
});
