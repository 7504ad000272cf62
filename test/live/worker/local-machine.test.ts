import { describe, expect, it, onTestFinished } from 'vitest';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import {
  STATUS_INFER_TOO_LATE,
  STATUS_INSUFFICIENT_CACHE,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
} from '../../../src/core/action.js';
import { DEFAULT_SESSION } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { startMachine } from '../../../src/live/worker/local-machine.js';
import { Driver, infer, inMs, load, PAGE_BYTES, profiled, simulatedMachine, unload } from './fixtures.js';

const MODELS = ['a', 'b', 'c', 'd'].map((name) => profiled(name));

async function drive(gpus = 1, models: readonly WorkerModel[] = MODELS, timeScale = 1): Promise<Driver> {
  const machine = await simulatedMachine(gpus, models, timeScale);
  onTestFinished(() => machine.close());
  return new Driver(machine);
}

const statuses = (results: readonly { status: number }[]) => results.map(({ status }) => status);

describe('LocalMachine: windows', () => {
  it('runs an action neither before it was sent nor before its window opens', async () => {
    const driver = await drive();
    await driver.run(load());
    const sentNs = monotonicNs();
    const earliestNs = inMs(20);
    const [soon, later] = await driver.run(infer(), infer(0, { earliestNs }));
    expect(statuses([soon, later])).toEqual([STATUS_OK, STATUS_OK]);
    expect(soon.beginNs).toBeGreaterThanOrEqual(sentNs);
    expect(later.beginNs).toBeGreaterThanOrEqual(earliestNs);
    expect(later.endNs - later.beginNs).toBe(1_000);
  });

  it('refuses what comes after its window has closed', async () => {
    const driver = await drive();
    await driver.run(load());
    const latestNs = monotonicNs();
    const results = await driver.run(infer(0, { latestNs }), load(1, { latestNs }));
    expect(statuses(results)).toEqual([STATUS_INFER_TOO_LATE, STATUS_LOAD_TOO_LATE]);
    expect(results[0].outputs).toEqual([]);
  });

  it('runs first whose window opens first, and one at a time', async () => {
    const driver = await drive(1, [profiled('a', { execNs: 3_000_000 })]);
    await driver.run(load());
    const earliestNs = inMs(20);
    const [last, first, second] = await driver.run(
      infer(0, { earliestNs: earliestNs + 2 }),
      infer(0, { earliestNs }),
      infer(0, { earliestNs: earliestNs + 1 }),
    );
    expect(first.endNs).toBeLessThanOrEqual(second.beginNs);
    expect(second.endNs).toBeLessThanOrEqual(last.beginNs);
  });
});

describe('LocalMachine: weights', () => {
  it('loads as much as the cache holds, and more after an UNLOAD', async () => {
    const driver = await drive();
    const [a, b, c, d] = await driver.run(load(0), load(1), load(2), load(3));
    expect(statuses([a, b, c, d])).toEqual([STATUS_OK, STATUS_OK, STATUS_OK, STATUS_INSUFFICIENT_CACHE]);
    expect(statuses(await driver.run(unload(1), load(3)))).toEqual([STATUS_OK, STATUS_OK]);
    expect(statuses(await driver.run(infer(3), infer(1)))).toEqual([STATUS_OK, STATUS_WEIGHTS_MISSING]);
    expect(await driver.machine.quiesce()).toEqual({ present: [[0, 2, 3]] });
  });

  it('answers an INFER with outputs of as many requests as it has', async () => {
    const driver = await drive();
    await driver.run(load());
    const inputs = [new Uint8Array(24)];
    const [{ outputs }] = await driver.run(infer(0, { batchIndex: 2, count: 3, inputs }));
    expect(outputs).toEqual([new Uint8Array(12)]);
  });
});

describe('LocalMachine: many GPUs', () => {
  it('takes no time at a time scale of 0, and sleeps through no message', async () => {
    const driver = await drive(2, [profiled('a', { loadNs: 1e12, execNs: 1e12 })], 0);
    await driver.run(load(), load(0, { gpu: 1 }));
    for (let i = 0; i < 3_000; i++) {
      const [{ status, beginNs, endNs }] = await driver.run(infer(0, { gpu: i % 2 }));
      expect([status, endNs - beginNs]).toEqual([STATUS_OK, 0]);
    }
  });
});

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

  it('closes while something runs that takes long', async () => {
    const driver = await drive(1, [profiled('a', { execNs: 1e15 })]);
    await driver.run(load());
    driver.send(infer());
    await driver.machine.close();
    expect(driver.results).toHaveLength(1);
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
