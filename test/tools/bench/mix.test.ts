import { expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import { workloadMix } from '../../../src/tools/bench/mix.js';
import { failure } from '../../live/models/fixtures.js';

const MODELS = 'models: { kind: fit, name: m, parameters: 1M, copies: 4 }';

async function mixOf(workload: string): Promise<number[]> {
  return workloadMix(await parseExperiment(`${MODELS}\nworkload: ${workload}\n`, 'mix.yaml'));
}

it('counts what an open loop asks for', async () => {
  const mix = await mixOf('{ kind: poisson, rate: 1000/s, duration: 60s, popularity: { kind: zipf, s: 1 } }');
  expect(mix.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
  expect(mix[0]).toBeCloseTo(12 / 25, 1);
  expect(mix[3]).toBeCloseTo(3 / 25, 1);
});

it('answers the clients of a closed loop', async () => {
  expect(await mixOf('{ kind: closed-loop, clients: 8, duration: 1s, models: [m-1, m-3] }')).toEqual([
    0, 0.5, 0, 0.5,
  ]);
});

it('takes fewer requests than it looks for', async () => {
  expect(await mixOf('{ kind: fixed, rate: 4/s, duration: 1s, models: [m-2] }')).toEqual([0, 0, 1, 0]);
});

it('refuses a workload in which nothing arrives', async () => {
  const { code, message } = await failure(mixOf('{ kind: poisson, rate: 0.001/s, duration: 1ms }'));
  expect(code).toBe('E_CONFIG_VALUE');
  expect(message).toBe('mix.yaml: workload: nothing arrives, so there is no mix of models to measure');
});
