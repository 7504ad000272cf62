import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { STATUS_OK, STATUS_WEIGHTS_MISSING } from '../../../src/core/action.js';
import type { DeviceSpec } from '../../../src/live/device.js';
import type { WorkerModel } from '../../../src/live/model.js';
import { NO_MODELS } from '../../../src/live/model-list.js';
import { makeModel } from '../../../src/live/models/make/make-model.js';
import { openSession } from '../../../src/live/ort/open-session.js';
import { type LocalMachine, startMachine } from '../../../src/live/worker/local-machine.js';
import { Driver, infer, load, PAGE_BYTES, profiled, unload } from './fixtures.js';
import { CPU, type RealModel, realModel, runDirectly } from './real-models.js';

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'escapement-machine-'));
const machines: LocalMachine[] = [];
let mlp: RealModel;
let mobilenet: RealModel;

beforeAll(async () => {
  mlp = await realModel('mlp', 32, folder);
  mobilenet = await realModel('mobilenet-v2', 32, folder);
});

afterEach(async () => {
  for (const machine of machines.splice(0)) await machine.close();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const reference = (name: string, digest = 'd') => ({ name, version: '1', digest });

/** A machine that starts with `models` and could have the `others`. */
async function drive(
  models: readonly WorkerModel[],
  others: readonly WorkerModel[],
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
  machines.push(machine);
  return { driver: new Driver(machine), machine, opened };
}

const statuses = (results: readonly { status: number }[]) => results.map(({ status }) => status);

describe('LocalMachine: models that come and go', () => {
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
    machines.push(plain);
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

  it('runs them on simulated GPUs, too', async () => {
    const { driver, machine } = await drive([], [profiled('a'), profiled('b')], {
      kind: 'simulated',
      timeScale: 1,
    });
    await machine.addModel(0, reference('a'));
    await machine.addModel(300, reference('b'));
    const x = () => new Uint8Array(8);
    expect(statuses(await driver.run(load(0), load(300)))).toEqual([STATUS_OK, STATUS_OK]);
    expect(statuses(await driver.run(infer(300, { inputs: [x()] })))).toEqual([STATUS_OK]);
    await machine.dropModel(300);
    expect(await machine.quiesce()).toMatchObject({ present: [[0]] });
  });

  it('gives the memory of models back', async () => {
    const large = await largeModel(48 * MIB);
    const { driver, machine } = await drive([mlp.worker], [large]);
    /** Resident bytes while the model was there, and after it had gone. */
    const round = async (): Promise<[number, number]> => {
      await machine.addModel(1, reference('large'));
      expect(statuses(await driver.run(load(1)))).toEqual([STATUS_OK]);
      const heldBytes = process.memoryUsage.rss();
      await driver.run(unload(1));
      await machine.dropModel(1);
      return [heldBytes, process.memoryUsage.rss()];
    };
    // What the first one leaves behind is used again. The allocator may keep a model's bytes for a while, but not
    // those of six.
    const [, baseBytes] = await round();
    const rounds: [number, number][] = [];
    for (let i = 0; i < 6; i++) rounds.push(await round());
    expect(Math.max(...rounds.map(([held, left]) => held - left))).toBeGreaterThan(24 * MIB);
    expect(Math.min(...rounds.slice(3).map(([, left]) => left)) - baseBytes).toBeLessThan(80 * MIB);
  });
});

/** An MLP with weights of about that size. */
async function largeModel(bytes: number): Promise<WorkerModel> {
  // Of its first layer, which has 512 outputs.
  const input = Math.round(bytes / (4 * 512));
  const { onnx } = makeModel('mlp', { input, seed: 1, classes: 10 });
  const ortPath = join(folder, 'large.ort');
  const config = { save_model_format: 'ORT' };
  const saved = await openSession(onnx, CPU, { level: 'extended', savePath: ortPath, config });
  await saved.release();
  const { worker } = mlp;
  const { length } = readFileSync(ortPath);
  const inputs = [{ name: 'input', datatype: 'FP32', shape: [input], bytes: 4 * input }] as const;
  return {
    ...worker,
    ortPath,
    spec: { ...worker.spec, name: 'large', weightsBytes: length, inputBytes: 4 * input },
    signature: { ...worker.signature, inputs },
  };
}
