import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { Cluster } from '../../../src/core/cluster.js';
import { Durations } from '../../../src/policies/escapement/durations.js';
import { simulate } from '../../../src/run/simulated.js';
import { model } from '../../core/fixtures.js';
import { MS } from '../policy-harness.js';

it('durations are those of each kind of GPUs, and what is measured on one says nothing of another', () => {
  const slow = { loadNs: 20 * MS, execNs: [30, 50, 80].map((ms) => ms * MS) };
  const kinds = [
    { gpus: 1, pages: 60 },
    { gpus: 1, pages: 60 },
  ];
  const cluster = new Cluster({ models: [model({ otherKinds: [slow] })], gpus: 2, pages: 60, kinds });
  const durations = new Durations(cluster, 8);
  expect([durations.on(0, 1), durations.on(1, 1)]).toEqual([5 * MS, 50 * MS]);
  for (let i = 0; i < 200; i++) durations.measured(1, 0, 1, 60 * MS, 1);
  expect(durations.on(0, 1)).toBe(5 * MS);
  expect(durations.on(1, 1) / MS).toBeCloseTo(60, 3);
  durations.forget();
  expect(durations.on(1, 1)).toBe(50 * MS);
});

it('requests that only the fast kind can serve are served where the slow kind is listed first', async () => {
  const experiment = await parseExperiment(
    `cluster: { gpus: [{ kind: slow, memory: 1GiB, count: 2 }, { kind: fast, memory: 1GiB, speed: 20 }] }
models: { kind: fit, name: m, parameters: 100M, copies: 2 }
workload: { kind: poisson, rate: 100/s, duration: 3s }
slo: 5ms
warmup: 1s
policy: { kind: escapement }`,
    'slow-first.yaml',
  );
  expect(experiment.models[0].execNs[0]).toBeGreaterThan(5 * MS);
  const { summary } = await simulate(experiment);
  expect(summary.attainment).toBeGreaterThan(0.95);
});
