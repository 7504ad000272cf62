import { expect, test } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { measureLoad } from '../../../src/run/cells/measure-load.js';
import { rejection } from '../../config/failure.js';

/** Two models whose latencies can be worked out: α·b + β of the fit, for 10 M parameters 0.538·b + 1.033 ms. */
const EXPERIMENT = `seed: 1
cluster: { gpus: 4 }
models: { kind: fit, name: model, parameters: 10M, copies: 2 }
workload:
  - { kind: fixed, rate: 10/s, duration: 8s, models: model-0 }
  - { kind: fixed, rate: 1000/s, duration: 2s, start: 4s, models: model-1 }
slo: 50ms
policy: { kind: clockwork }
`;
const execMs = (batch: number) => 0.538 * batch + 1.033;

const load = (...overrides: string[]) => parseExperiment(EXPERIMENT, 'run.yaml', overrides);

test('a request costs its share of the fullest batch that can gather, in the interval in which it arrives', async () => {
  const { loads, means, intervalNs } = await measureLoad(await load());
  // 8 s in intervals of four SLOs.
  expect(intervalNs).toBe(0.2e9);
  expect(loads[0]).toHaveLength(40);
  // Ten a second: with its 50 ms, half a request more comes while one waits.
  const slack = (50 - execMs(2)) / 1000;
  const alone = Math.min(execMs(1), execMs(2) / (1 + 10 * slack));
  expect(means[0]).toBeCloseTo((10 * alone) / 1000, 6);
  // A thousand a second fill batches of eight, the policy's most, in a quarter of the run.
  expect(loads[1]![22]).toBeCloseTo(execMs(8) / 8, 3);
  expect(loads[1]![5]).toBe(0);
  expect(means[1]).toBeCloseTo(execMs(8) / 8 / 4, 3);
});

test('a larger batch of the policy makes requests cheaper, and a warm-up does not count', async () => {
  const { loads } = await measureLoad(await load('policy.maxBatch=16', 'warmup=4s'));
  expect(loads[1]).toHaveLength(20);
  expect(loads[1]![2]).toBeCloseTo(execMs(16) / 16, 3);
});

test('requests that no batch can answer in time cost nothing', async () => {
  const { means } = await measureLoad(await load('slo=1ms'));
  expect([...means]).toEqual([0, 0]);
});

test('the load of clients that wait for answers is not known', async () => {
  const closed = load('workload.0={ kind: closed-loop, clients: 1, duration: 1s }');
  const { message } = await rejection(measureLoad(await closed));
  expect(message).toBe(
    'run.yaml: workload.0.kind: closed-loop clients send when they are answered, so the load of their models cannot be measured beforehand; take another kind of workload',
  );
});
