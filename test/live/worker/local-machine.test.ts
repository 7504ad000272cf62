import { describe, expect, it, onTestFinished } from 'vitest';
import { STATUS_OK, STATUS_WEIGHTS_MISSING } from '../../../src/core/action.js';
import { DEFAULT_SESSION } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { startMachine } from '../../../src/live/worker/local-machine.js';
import { Driver, infer, inMs, load, PAGE_BYTES, profiled, simulatedMachine } from './fixtures.js';

const MODELS = ['a', 'b', 'c', 'd'].map((name) => profiled(name));

async function drive(gpus = 1, models: readonly WorkerModel[] = MODELS, timeScale = 1): Promise<Driver> {
  const machine = await simulatedMachine(gpus, models, timeScale);
  onTestFinished(() => machine.close());
  return new Driver(machine);
}

const statuses = (results: readonly { status: number }[]) => results.map(({ status }) => status);

describe('LocalMachine: quiesce', () => {
  it('does not count weights that were about to be loaded', async () => {
    const driver = await drive();
    driver.send(load(2, { earliestNs: inMs(600_000) }));
    expect(await driver.machine.quiesce()).toEqual({ present: [[]] });
    await driver.run(load(1));
    expect(await Promise.all([driver.machine.quiesce(), driver.machine.quiesce()])).toEqual([
      { present: [[1]] },
      { present: [[1]] },
    ]);
  });
});

describe('LocalMachine: failure', () => {
  it('reports an executor that died, and restarts it when asked to quiesce', async () => {
    const driver = await drive(2, [profiled('a', { execNs: 1_000 })]);
    await driver.run(load(), load(0, { gpu: 1 }));
    const lost = driver.send(infer(0, { earliestNs: inMs(600_000) }));
    void driver.machine.executors[0].threads[0].terminate();
    await driver.until(() => driver.downs.length === 2);
    expect(driver.downs.map(({ gpu }) => gpu)).toEqual([0, 1]);
    expect(driver.downs[0].reason).toMatch(/ended/);
    // To a dead executor: never answered.
    driver.send(infer());
    expect(await driver.machine.quiesce()).toEqual({ present: [[], []] });
    expect(statuses(await driver.run(infer()))).toEqual([STATUS_WEIGHTS_MISSING]);
    expect(statuses(await driver.run(load()))).toEqual([STATUS_OK]);
    expect(statuses(await driver.run(infer()))).toEqual([STATUS_OK]);
    expect(driver.resultOf(lost[0])).toBeUndefined();
    expect(driver.downs).toHaveLength(2);
  });

  it('quiesces even if an executor dies of it', async () => {
    const driver = await drive(1, [profiled('a', { execNs: 1e12 })]);
    await driver.run(load());
    driver.send(infer());
    const quiesced = driver.machine.quiesce();
    void driver.machine.executors[0].threads[0].terminate();
    expect(await quiesced).toEqual({ present: [[]] });
    expect(driver.downs).toEqual([]);
    expect(statuses(await driver.run(load()))).toEqual([STATUS_OK]);
  });

  it('refuses devices that cannot be used together, and models that a device cannot run', async () => {
    const options = { models: MODELS, pages: 6, pageBytes: PAGE_BYTES };
    const webgpu = { kind: 'webgpu', adapter: 0, session: DEFAULT_SESSION } as const;
    await expect(startMachine({ ...options, devices: [webgpu, webgpu] })).rejects.toMatchObject({
      code: 'E_DEVICE',
      message: expect.stringContaining('start one worker process for each GPU'),
    });
    await expect(startMachine({ ...options, devices: [webgpu] })).rejects.toMatchObject({
      code: 'E_MODEL_FILE',
      message: expect.stringContaining('model a is a profile without weights'),
    });
  });
});
