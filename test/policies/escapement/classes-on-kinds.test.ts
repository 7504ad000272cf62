import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { simulate } from '../../../src/run/simulated.js';

/** A fast GPU and slow ones under overload; requests of one class, or of two that weigh the same. */
const experiment = (classes: string) => `seed: 1
cluster:
  gpus: [{ kind: fast }, { kind: slow, count: 4, speed: 0.35 }]
models: { kind: zoo, varieties: 15 }
${classes}
workload:
  - { kind: poisson, rate: 250/s, duration: 2s${classes === '' ? '' : ', class: customer'} }
  - { kind: poisson, rate: 450/s, duration: 2s }
slo: 50ms
policy: { kind: escapement }
output: { timeline: false }
`;

it('with classes, too, batches are timed by the GPU that they run on', async () => {
  const run = async (classes: string) =>
    (await simulate(await parseExperiment(experiment(classes), 'kinds.yaml'))).summary;
  const plain = await run('');
  const weighted = await run('classes: [{ name: visitor }, { name: customer, weight: 5 }]');
  // Without noise, a batch that was timed for its own GPU is never late.
  expect([plain.requests.late, weighted.requests.late]).toEqual([0, 0]);
  expect(weighted.attainment).toBeGreaterThan(0.9 * plain.attainment!);
  expect(weighted.by.class?.[1]?.attainment).toBeGreaterThan(plain.attainment!);
});
