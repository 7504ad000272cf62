import { describe, expect, it } from 'vitest';
import { benchSloNs, chosenBatches, enoughClients, machineOf } from '../../../src/tools/bench/subject.js';
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
});

describe('the clients', () => {
  it('keep two batches of each model that is asked for, at least 16 of them', async () => {
    const both = await subjectOf([growing, flat], ['policy.maxBatch=16']);
    expect(enoughClients(both, [4, 2])).toBe(40);
    expect(enoughClients(await subjectOf([flat]), [2])).toBe(16);
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
