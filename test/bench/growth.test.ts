import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import type { AzureLikeSpec } from '../../src/workload/spec.js';
import { GROWTH, growthCases } from './cases.js';
import type { RunChoice } from './child.js';
import { benchGrowth, type GrowthLine } from './growth.js';

it('prints medians of each policy on each number of GPUs', () => {
  const lines: GrowthLine[] = [];
  const asked: RunChoice[] = [];
  const rates = [100, 400, 200];
  benchGrowth(
    3,
    'growth-1000',
    (line) => lines.push(line),
    (choice) => {
      const processedRps = rates[asked.length % rates.length];
      asked.push(choice);
      const { length } = asked;
      return {
        ...{
          requests: 7,
          events: 14,
          seconds: 1,
          cpuSeconds: 0.7 / processedRps,
          processedRps,
          peakRssBytes: length * 1e6,
        },
        ...{ digest: `d${length}`, attainment: 0.5 },
      };
    },
  );
  expect(lines.map(({ policy }) => policy)).toEqual(['clockwork', 'escapement', 'fifo']);
  expect(asked.map(({ overrides }) => overrides[0]).slice(2, 4)).toEqual([
    'policy={ kind: clockwork }',
    'policy={ kind: escapement }',
  ]);
  const figures = { gpus: 1000, runs: 3, requests: 7, processedRps: 200, cpuUsPerRequest: 500 };
  expect(lines[1]).toMatchObject({ ...figures, peakRssMB: 5, attainment: 0.5, digest: 'd4' });
});

it('each case of growth asks as much of each GPU, and about as much in all', async () => {
  const loads = await Promise.all(
    growthCases().map(async ({ experiment }) => {
      const { cluster, workloads, models } = await parseExperiment(experiment, 'bench.yaml');
      const [{ rateRps, minutes, intervalNs }] = workloads as readonly AzureLikeSpec[];
      return { gpus: cluster.gpus, rateRps, seconds: (minutes * intervalNs) / 1e9, models: models.length };
    }),
  );
  expect(loads.map(({ gpus }) => gpus)).toEqual(GROWTH);
  expect(loads.map(({ rateRps, gpus }) => rateRps / gpus)).toEqual(loads.map(() => 300));
  expect(loads.map(({ rateRps, seconds }) => rateRps * seconds)).toEqual(loads.map(() => 900_000));
  for (const { models, gpus } of loads) expect(models).toBeGreaterThanOrEqual(4 * gpus);
});
