import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stream } from '../../../src/base/random/streams.js';
import { STATUS_DEVICE_ERROR, STATUS_OK, STATUS_WEIGHTS_MISSING } from '../../../src/core/action.js';
import type { DeviceSpec } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { type LocalMachine, startMachine } from '../../../src/live/worker/local-machine.js';
import { Driver, infer, load, PAGE_BYTES, unload } from './fixtures.js';
import { CPU, type RealModel, realModel, runDirectly } from './real-models.js';

const folder = mkdtempSync(join(tmpdir(), 'escapement-machine-'));
const machines: LocalMachine[] = [];
let models: RealModel[];

beforeAll(async () => {
  models = [await realModel('mlp', 32, folder), await realModel('mobilenet-v2', 32, folder)];
});

afterEach(async () => {
  for (const machine of machines.splice(0)) await machine.close();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function drive(workerModels: readonly WorkerModel[], device: DeviceSpec = CPU): Promise<Driver> {
  const machine = await startMachine({
    devices: [device],
    models: workerModels,
    pages: 6,
    pageBytes: PAGE_BYTES,
  });
  machines.push(machine);
  return new Driver(machine);
}

const statuses = (results: readonly { status: number }[]) => results.map(({ status }) => status);

describe('LocalMachine: real models on the CPU', () => {
  it('answers as onnxruntime does, bit for bit, at every batch size and count', async () => {
    const random = stream(1, 'inputs');
    const driver = await drive(models.map(({ worker }) => worker));
    expect(statuses(await driver.run(load(0), load(1)))).toEqual([STATUS_OK, STATUS_OK]);
    for (const [index, model] of models.entries()) {
      const { spec } = model.worker;
      for (const [batchIndex, batchSize] of spec.batchSizes.entries()) {
        for (let count = 1; count <= batchSize; count++) {
          const values = Float32Array.from({ length: (count * spec.inputBytes) / 4 }, () => random() - 0.5);
          const input = new Uint8Array(values.buffer);
          const expected = await runDirectly(model, batchSize, count, input);
          const [result] = await driver.run(infer(index, { batchIndex, count, inputs: [input] }));
          expect(result).toMatchObject({ status: STATUS_OK, error: '' });
          expect(Buffer.compare(result.outputs[0], expected)).toBe(0);
          expect(result.endNs).toBeGreaterThan(result.beginNs);
        }
      }
    }
  });

  it('loads, unloads and loads again', async () => {
    const driver = await drive([models[0].worker]);
    const input = () => new Uint8Array(models[0].worker.spec.inputBytes);
    await driver.run(load());
    const [first] = await driver.run(infer(0, { inputs: [input()] }));
    await driver.run(unload());
    expect(statuses(await driver.run(infer(0, { inputs: [input()] })))).toEqual([STATUS_WEIGHTS_MISSING]);
    // The second LOAD replaces what the first one has just loaded.
    await driver.run(load(), load());
    const [again] = await driver.run(infer(0, { inputs: [input()] }));
    expect(again.outputs).toEqual(first.outputs);
  });

  it('takes inputs that are part of a larger buffer, and leaves that alone', async () => {
    const { worker } = models[0];
    const driver = await drive([worker]);
    const shared = new Uint8Array(3 * worker.spec.inputBytes).fill(7);
    const part = shared.subarray(worker.spec.inputBytes, 2 * worker.spec.inputBytes);
    const expected = await runDirectly(models[0], 1, 1, part);
    await driver.run(load());
    const results = await driver.run(infer(0, { inputs: [part] }), infer(0, { inputs: [part] }));
    for (const { outputs } of results) expect(Buffer.compare(outputs[0], expected)).toBe(0);
    expect(shared.every((byte) => byte === 7)).toBe(true);
  });

  it('waits for a running INFER when it quiesces', async () => {
    const driver = await drive([models[0].worker]);
    await driver.run(load());
    const inputs = () => [new Uint8Array(models[0].worker.spec.inputBytes)];
    driver.send(...Array.from({ length: 50 }, () => infer(0, { inputs: inputs() })));
    expect(await driver.machine.quiesce()).toEqual({ present: [[0]] });
    const before = driver.results.length;
    const [result] = await driver.run(infer(0, { inputs: inputs() }));
    expect(driver.results.slice(before)).toEqual([result]);
  });
});

describe('LocalMachine: what goes wrong on a real device', () => {
  it('answers an INFER that the device cannot run', async () => {
    const driver = await drive([models[0].worker]);
    await driver.run(load());
    const [short] = await driver.run(infer(0, { inputs: [new Uint8Array(5)] }));
    expect(short).toMatchObject({ status: STATUS_DEVICE_ERROR, outputs: [] });
    expect(short.error).toContain('the bytes of all requests');
    const inputs = [new Uint8Array(models[0].worker.spec.inputBytes)];
    expect(statuses(await driver.run(infer(0, { inputs })))).toEqual([STATUS_OK]);
  });

  it('answers the LOAD of a model that is corrupt, and runs the others', async () => {
    const ortPath = join(folder, 'corrupt.ort');
    writeFileSync(ortPath, 'no model at all');
    const driver = await drive([{ ...models[0].worker, ortPath }, models[1].worker]);
    const [corrupt, good] = await driver.run(load(0), load(1));
    expect(corrupt).toMatchObject({ status: STATUS_DEVICE_ERROR, outputs: [] });
    expect(corrupt.error).not.toBe('');
    expect(good.status).toBe(STATUS_OK);
    expect(await driver.machine.quiesce()).toEqual({ present: [[1]] });
  });

  it('reports a host thread that died as the death of its GPU, which comes back', async () => {
    const driver = await drive([models[0].worker]);
    await driver.run(load());
    // Let it come to rest: onnxruntime ends the process if its thread is cut off during a call.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    void driver.machine.executors[0].threads[1].terminate();
    // A thread that blocks until it is asked to do something notices at once, or when it is.
    await driver.until(() => driver.downs.length === 1);
    expect(await driver.machine.quiesce()).toEqual({ present: [[]] });
    expect(statuses(await driver.run(load()))).toEqual([STATUS_OK]);
  });

  it('does not start with a file or a device that is not there', async () => {
    const ortPath = join(folder, 'missing.ort');
    await expect(drive([{ ...models[0].worker, ortPath }])).rejects.toMatchObject({
      code: 'E_MODEL_FILE',
      message: expect.stringContaining('missing.ort'),
    });
    const foreign = process.platform === 'win32' ? 'coreml' : 'dml';
    await expect(drive([models[0].worker], { ...CPU, kind: foreign })).rejects.toMatchObject({
      code: 'E_DEVICE',
      message: expect.stringContaining(`no provider ${foreign}`),
    });
  });
});
