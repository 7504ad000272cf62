import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { simulate } from '../../../src/run/simulated.js';
import { MS } from '../policy-harness.js';

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
