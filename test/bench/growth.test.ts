import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { POLICIES } from '../../src/policies/registry.js';
import { renderSvg } from '../../src/report/html/render.js';
import type { AzureLikeSpec } from '../../src/workload/spec.js';
import { GROWTH, growthCases } from './cases.js';
import type { RunChoice } from './child.js';
import { benchGrowth, type GrowthLine } from './growth.js';
import { growthChart } from './growth-chart.js';

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
  const kinds = POLICIES.map(({ kind }) => kind);
  expect(lines.map(({ policy }) => policy)).toEqual(kinds);
  expect(asked.map(({ overrides }) => overrides[0]).slice(2, 4)).toEqual([
    `policy={ kind: ${kinds[0]} }`,
    `policy={ kind: ${kinds[1]} }`,
  ]);
  const figures = {
    ...{ gpus: 1000, runs: 3, requests: 7, processedRps: 200 },
    ...{ cpuUsPerRequest: 500, cpuUsPerEvent: 250 },
  };
  expect(lines[1]).toMatchObject({ ...figures, peakRssMB: 5, attainment: 0.5, digest: 'd4' });
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

it('draws each policy up to the most GPUs that it was measured on, with its name there', async () => {
  const line = (policy: string, gpus: number, cpuUsPerRequest: number) => ({ policy, gpus, cpuUsPerRequest });
  const lines = [line('fifo', 1, 4), line('fifo', 100, 8), line('edf', 1, 5), line('edf', 100, 8)];
  const svg = await renderSvg(growthChart(lines as unknown as GrowthLine[]));
  const heights = ['fifo', 'edf'].map((policy) => {
    const found = new RegExp(`translate\\([\\d.]+,([\\d.]+)\\)[^<]*>${policy}<`).exec(svg);
    return Number(found?.[1]);
  });
  expect(Math.abs(heights[0] - heights[1])).toBeGreaterThan(12);
});
