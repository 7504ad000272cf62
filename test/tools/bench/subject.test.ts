import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../../src/config/load.js';
import {
  benchSloNs,
  chosenBatches,
  enoughClients,
  fixBatch,
  machineOf,
  workloadMix,
} from '../../../src/tools/bench/subject.js';
import { failure } from '../../live/models/fixtures.js';
import { subjectOf, workerModel } from './fixtures.js';

const growing = workerModel('growing', { 1: 10, 2: 15, 4: 24, 8: 40, 16: 70 });
const flat = workerModel('flat', { 1: 1, 2: 2.1, 4: 4.4 });

describe('the batch of the device by itself', () => {
  it('is the one with the most requests per second', async () => {
    expect(chosenBatches(await subjectOf([growing, flat], ['policy.maxBatch=16']))).toEqual([4, 0]);
  });

  it('is one that the policy may use', async () => {
    // 8 by default.
    expect(chosenBatches(await subjectOf([growing]))).toEqual([3]);
    expect(chosenBatches(await subjectOf([growing], ['policy={kind: clockwork, maxExec: 30ms}']))).toEqual([
      2,
    ]);
  });

  it('can be fixed, for the server too, whatever the policy says', async () => {
    const fixed = fixBatch(await subjectOf([growing], ['policy={kind: clockwork, maxExec: 30ms}']), 16);
    expect(chosenBatches(fixed)).toEqual([4]);
    expect(fixed.settings.policy.options).toMatchObject({ maxBatch: 16, maxExec: 70e6 });
    const small = fixBatch(await subjectOf([growing]), 2);
    expect(small.models[0].spec).toMatchObject({ batchSizes: [1, 2], execNs: [10e6, 15e6] });
    expect(chosenBatches(small)).toEqual([1]);
  });

  it('must have been measured', async () => {
    const subject = await subjectOf([growing, flat], [], [1, 0]);
    expect(() => fixBatch(subject, 3)).toThrow(
      '--vary batchSize: model growing has 1, 2, 4, 8, 16, not 3: add it to batchSizes in its config.yaml',
    );
    // The other is not used.
    expect(fixBatch(subject, 8).models[1]).toBe(flat);
  });
});

describe('the clients', () => {
  it('keep two batches of each model that is asked for, at least 16 of them', async () => {
    const both = await subjectOf([growing, flat], ['policy.maxBatch=16']);
    expect(enoughClients(both, [4, 2])).toBe(40);
    expect(enoughClients({ ...both, mix: [0, 1] }, [4, 2])).toBe(16);
  });

  it('have an SLO with room for all of them, unless one is given', async () => {
    const subject = await subjectOf([growing]);
    // A request of a batch of 8 takes 5 ms.
    expect(benchSloNs(subject, [3], 100)).toBe(4 * 100 * 5e6);
    expect(benchSloNs(subject, [3], 16)).toBe(1e9);
    expect(benchSloNs({ ...subject, sloNs: 50e6 }, [3], 16)).toBe(50e6);
  });
});

it('has an instant device with the same tensors', async () => {
  const subject = await subjectOf([growing]);
  const { devices, models } = machineOf(subject, true);
  expect(devices).toEqual([{ kind: 'simulated', timeScale: 0 }]);
  expect(models[0].signature).toBe(growing.signature);
  expect(models[0].spec.execNs).toEqual([1000, 1000, 1000, 1000, 1000]);
  expect(machineOf(subject, false)).toMatchObject({ devices: [{ kind: 'cpu' }], models: [growing] });
});

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
