import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { STATUS_DEVICE_ERROR, STATUS_OK, STATUS_WEIGHTS_MISSING } from '../../../src/core/action.js';
import type { DeviceSpec } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { NO_MODELS } from '../../../src/live/model-list.js';
import { startMachine } from '../../../src/live/worker/local-machine.js';
import { tempDir } from '../../cli/run-cli.js';
import { Driver, infer, load, PAGE_BYTES, profiled, unload } from './fixtures.js';
import { CPU, type RealModel, realModel, runDirectly } from './real-models.js';

const folder = tempDir();
let mlp: RealModel;
let mobilenet: RealModel;

beforeAll(async () => {
  mlp = await realModel('mlp', 32, folder);
  mobilenet = await realModel('mobilenet-v2', 32, folder);
});

const reference = (name: string, digest = 'd') => ({ name, version: '1', digest });

/** A machine that starts with `models` and could have the `others`. */
async function drive(
  models: readonly WorkerModel[],
  others: readonly WorkerModel[] = [],
  device: DeviceSpec = CPU,
) {
  const opened: string[] = [];
  const machine = await startMachine({
    devices: [device],
    models,
    source: {
      list: async () => NO_MODELS,
      close: async () => {},
      open: async ({ name, version, digest }) => {
        opened.push(`${name} ${version} ${digest}`);
        const model = others.find(({ spec }) => spec.name === name);
        if (model === undefined) throw new Error(`there is no folder ${name}`);
        return model;
      },
    },
    pages: 6,
    pageBytes: PAGE_BYTES,
  });
  onTestFinished(() => machine.close());
  return { driver: new Driver(machine), machine, opened };
}

const statuses = (results: readonly { status: number }[]) => results.map(({ status }) => status);

describe('a machine with real models', () => {
  it('takes inputs that are part of a larger buffer, and leaves that alone', async () => {
    const { worker } = mlp;
    const { driver } = await drive([worker]);
    const shared = new Uint8Array(3 * worker.spec.inputBytes).fill(7);
    const part = shared.subarray(worker.spec.inputBytes, 2 * worker.spec.inputBytes);
    const expected = await runDirectly(mlp, 1, 1, part);
    await driver.run(load());
    const results = await driver.run(infer(0, { inputs: [part] }), infer(0, { inputs: [part] }));
    for (const { outputs } of results) expect(Buffer.compare(outputs[0], expected)).toBe(0);
    expect(shared.every((byte) => byte === 7)).toBe(true);
  });
});

describe('what goes wrong on a real device', () => {
  it('answers the LOAD of a model that is corrupt, and runs the others', async () => {
    const ortPath = join(folder, 'corrupt.ort');
    writeFileSync(ortPath, 'no model at all');
    const { driver } = await drive([{ ...mlp.worker, ortPath }, mobilenet.worker]);
    const [corrupt, good] = await driver.run(load(0), load(1));
    expect(corrupt).toMatchObject({ status: STATUS_DEVICE_ERROR, outputs: [] });
    expect(corrupt.error).not.toBe('');
    expect(good.status).toBe(STATUS_OK);
    expect(await driver.machine.quiesce()).toEqual({ present: [[1]] });
  });

  it('does not start with a file or a device that is not there', async () => {
    const ortPath = join(folder, 'missing.ort');
    await expect(drive([{ ...mlp.worker, ortPath }])).rejects.toMatchObject({
      code: 'E_MODEL_FILE',
      message: expect.stringContaining('missing.ort'),
    });
    const foreign = process.platform === 'win32' ? 'coreml' : 'dml';
    await expect(drive([mlp.worker], [], { ...CPU, kind: foreign })).rejects.toMatchObject({
      code: 'E_DEVICE',
      message: expect.stringContaining(`no provider ${foreign}`),
    });
  });
});

describe('models that come and go', () => {
  it('runs a model that came later, also in the place of another, as onnxruntime does', async () => {
    const { driver, machine } = await drive([mlp.worker], [mobilenet.worker, mlp.worker]);
    const added = await machine.addModel(5, reference('mobilenet-v2'));
    expect(added).toMatchObject({ spec: { name: 'mobilenet-v2' }, version: '1' });
    expect(added).not.toHaveProperty('ortPath');
    const answersAsDirectly = async (index: number, model: RealModel) => {
      const input = new Uint8Array(new Float32Array(model.worker.spec.inputBytes / 4).fill(0.5).buffer);
      const expected = await runDirectly(model, 1, 1, input);
      expect(statuses(await driver.run(load(index)))).toEqual([STATUS_OK]);
      const [result] = await driver.run(infer(index, { inputs: [input] }));
      expect(result).toMatchObject({ status: STATUS_OK, error: '' });
      expect(Buffer.compare(result.outputs[0], expected)).toBe(0);
    };
    await answersAsDirectly(5, mobilenet);
    await answersAsDirectly(0, mlp);
    await driver.run(unload(0));
    await machine.addModel(0, reference('mobilenet-v2'));
    await machine.dropModel(5);
    await machine.addModel(5, reference('mlp'));
    await answersAsDirectly(0, mobilenet);
    await answersAsDirectly(5, mlp);
    expect(await machine.quiesce()).toEqual({
      present: [[0, 5]],
      changes: [
        { index: 5, reference: reference('mlp') },
        { index: 0, reference: reference('mobilenet-v2') },
      ],
    });
  });

  it('forgets the weights of a model that is replaced, and keeps those of one that is asked for again', async () => {
    const { driver, machine, opened } = await drive([], [mlp.worker]);
    await machine.addModel(0, reference('mlp'));
    await driver.run(load(0));
    await machine.addModel(0, reference('mlp'));
    expect(opened).toEqual(['mlp 1 d']);
    const input = () => new Uint8Array(mlp.worker.spec.inputBytes);
    expect(statuses(await driver.run(infer(0, { inputs: [input()] })))).toEqual([STATUS_OK]);
    await machine.addModel(0, reference('mlp', 'e'));
    expect(opened).toEqual(['mlp 1 d', 'mlp 1 e']);
    expect(statuses(await driver.run(infer(0, { inputs: [input()] })))).toEqual([STATUS_WEIGHTS_MISSING]);
  });

  it('says why it can not have a model, and goes on with the others', async () => {
    const { driver, machine } = await drive(
      [mlp.worker],
      [
        profiled('weightless'),
        { ...mlp.worker, spec: { ...mlp.worker.spec, name: 'lost' }, ortPath: '/none.ort' },
      ],
    );
    await expect(machine.addModel(1, reference('unknown'))).rejects.toThrow('there is no folder unknown');
    await expect(machine.addModel(1, reference('weightless'))).rejects.toMatchObject({
      code: 'E_MODEL_FILE',
    });
    await expect(machine.addModel(1, reference('lost'))).rejects.toMatchObject({ code: 'E_MODEL_FILE' });
    expect(machine.models).toEqual([mlp.worker, null]);
    expect(statuses(await driver.run(load(0)))).toEqual([STATUS_OK]);
    const plain = await startMachine({
      devices: [CPU],
      models: [mlp.worker],
      pages: 6,
      pageBytes: PAGE_BYTES,
    });
    onTestFinished(() => plain.close());
    expect(await plain.addModel(1, reference('other'))).toBe(null);
  });

  it('has models that came also after its threads have died', async () => {
    const { driver, machine } = await drive([mlp.worker], [mobilenet.worker]);
    await machine.addModel(1, reference('mobilenet-v2'));
    await machine.executors[0].threads[0].terminate();
    await driver.until(() => driver.downs.length > 0);
    await machine.dropModel(0);
    await machine.quiesce();
    expect(statuses(await driver.run(load(1)))).toEqual([STATUS_OK]);
  });
});
