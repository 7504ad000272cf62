import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { monotonicNs } from '../../../src/base/clock/clock.js';
import { NS_PER_HOUR } from '../../../src/base/units.js';
import { INFER, STATUS_OK } from '../../../src/core/action.js';
import { RemoteLink } from '../../../src/live/controller/link/remote-link.js';
import type { ResultMessage } from '../../../src/live/messages.js';
import type { OperatorRuns } from '../../../src/live/operator-runs.js';
import { serveMachine } from '../../../src/live/worker/endpoint/worker-endpoint.js';
import { type LocalMachine, startMachine } from '../../../src/live/worker/local-machine.js';
import { Recorder } from '../controller/link/recorder.js';
import { Driver, infer, load, PAGE_BYTES, profiled, simulatedMachine, unload } from './fixtures.js';
import { CPU, type RealModel, realModel } from './real-models.js';

const folder = mkdtempSync(join(tmpdir(), 'escapement-profile-'));
/** Where recordings are kept meanwhile: a folder of this test alone. */
const temporary = join(folder, 'tmp');
const before = process.env.TMPDIR;
const machines: LocalMachine[] = [];
let models: RealModel[];

beforeAll(async () => {
  mkdirSync(temporary);
  process.env.TMPDIR = temporary;
  models = [await realModel('mlp', 32, folder), await realModel('resnet18', 32, folder)];
});

afterEach(async () => {
  for (const machine of machines.splice(0)) await machine.close();
  expect(recordings()).toEqual([]);
});

afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true, force: true });
});

/** onnxruntime keeps files of its own there. */
function recordings(): string[] {
  return readdirSync(temporary).filter((name) => name.includes('escapement'));
}

async function real(): Promise<LocalMachine> {
  const machine = await startMachine({
    devices: [CPU],
    models: models.map(({ worker }) => worker),
    pages: 6,
    pageBytes: PAGE_BYTES,
  });
  machines.push(machine);
  return machine;
}

/** INFERs of both models, at all batch sizes, with the same inputs each time. */
const INFERS = [0, 1].flatMap((model) =>
  [0, 1, 2].map((batchIndex) => ({ model, batchIndex, count: 1 + batchIndex })),
);

function all() {
  return INFERS.map(({ model, batchIndex, count }) => {
    const { inputBytes } = models[model].worker.spec;
    const values = Float32Array.from({ length: (count * inputBytes) / 4 }, (_, i) => Math.sin(i + count));
    return infer(model, { batchIndex, count, inputs: [new Uint8Array(values.buffer)] });
  });
}

/** More INFERs than fit into one log. */
async function many(driver: Driver): Promise<ResultMessage[]> {
  const results: ResultMessage[] = [];
  for (let i = 0; i < 14; i++) results.push(...(await driver.run(...all())));
  return results;
}

/** What holds of all INFERs that were recorded. */
function check(results: readonly ResultMessage[], { operators }: OperatorRuns): void {
  const idOf = new Set(results.map(({ id }) => id));
  expect(operators.every(({ action }) => idOf.has(action))).toBe(true);
  for (const { id, beginNs, endNs, copyInNs, copyOutNs } of results) {
    const runs = operators.filter(({ action }) => action === id);
    for (const run of runs) {
      expect(run.beginNs).toBeGreaterThanOrEqual(beginNs + copyInNs);
      expect(run.endNs).toBeLessThanOrEqual(endNs - copyOutNs);
      expect(run.endNs).toBeGreaterThanOrEqual(run.beginNs);
    }
    const tookNs = runs.reduce((sum, run) => sum + run.endNs - run.beginNs, 0);
    expect(tookNs).toBeLessThanOrEqual(endNs - beginNs);
  }
}

/** The same, and none is missing. */
function checkAll(results: readonly ResultMessage[], profile: OperatorRuns): void {
  check(results, profile);
  expect(profile.dropped).toBe(0);
  const recorded = new Set(profile.operators.map(({ action }) => action));
  expect(recorded).toEqual(new Set(results.map(({ id }) => id)));
}

describe('LocalMachine: profile of operators', () => {
  it('tells what onnxruntime did below each INFER while it was recorded', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    machine.startRecording();
    await driver.run(load(0), load(1));
    const results = await driver.run(...all());
    const profile = await machine.stopRecording();
    await driver.run(...all());
    checkAll(results, profile);
    const { operators } = profile;
    const ofMlp = operators.filter(({ action }) => action === results[0].id);
    expect(new Set(ofMlp.map(({ operator }) => operator))).toContain('Gemm');
    const ofResnet = operators.filter(({ action }) => action === results[3].id);
    expect(ofResnet.filter(({ operator }) => operator.endsWith('Conv')).length).toBe(20);
    expect(new Set(operators.map(({ provider }) => provider))).toEqual(new Set(['CPUExecutionProvider']));
    expect(operators.filter(({ name }) => name === '' || name.endsWith('_kernel_time'))).toEqual([]);
  });

  it('changes no answer', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    await driver.run(load(0), load(1));
    const first = await driver.run(...all());
    machine.startRecording();
    const during = await many(driver);
    expect((await machine.stopRecording()).operators).not.toEqual([]);
    const afterwards = await driver.run(...all());
    const outputs = (results: readonly ResultMessage[]) => results.map((result) => result.outputs);
    for (let i = 0; i < during.length; i += first.length)
      expect(outputs(during.slice(i, i + first.length))).toEqual(outputs(first));
    expect(outputs(afterwards)).toEqual(outputs(first));
  });

  it('records models that were loaded before, again and again', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    await driver.run(load(0), load(1));
    for (let round = 0; round < 2; round++) {
      machine.startRecording();
      const results = await many(driver);
      const profile = await machine.stopRecording();
      check(results, profile);
      // From its first moment of leisure on a host misses none.
      const recorded = new Set(profile.operators.map(({ action }) => action));
      for (const model of [0, 1]) {
        const ids = results.filter((_, i) => INFERS[i % INFERS.length].model === model).map(({ id }) => id);
        const missing = ids.findIndex((id) => recorded.has(id));
        expect(missing).toBeGreaterThanOrEqual(0);
        expect(ids.slice(missing).filter((id) => !recorded.has(id))).toEqual([]);
      }
    }
  });

  it('keeps what a model did that is unloaded meanwhile', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    machine.startRecording();
    await driver.run(load(0), load(1));
    const results = await driver.run(...all());
    await driver.run(unload(0));
    const stopped = machine.stopRecording();
    await driver.run(unload(1));
    checkAll(results, await stopped);
  });

  it('is empty where nothing ran, where nothing was recorded, and of simulated GPUs', async () => {
    const machine = await real();
    expect(await machine.stopRecording()).toEqual({ operators: [], dropped: 0 });
    machine.startRecording();
    machine.startRecording();
    expect(await machine.stopRecording()).toEqual({ operators: [], dropped: 0 });
    const simulated = await simulatedMachine(2, [profiled('a')]);
    machines.push(simulated);
    simulated.startRecording();
    const driver = new Driver(simulated);
    await driver.run(load(), infer());
    expect(await simulated.stopRecording()).toEqual({ operators: [], dropped: 0 });
  });

  it('ends with its GPU, and can begin again when that is back', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    machine.startRecording();
    await driver.run(load());
    // Not the thread of the models: onnxruntime ends the process if that is cut off during one of its calls.
    await machine.executors[0].threads[0].terminate();
    await driver.until(() => driver.downs.length > 0);
    expect(await machine.stopRecording()).toEqual({ operators: [], dropped: 0 });
    expect(recordings()).toEqual([]);
    await machine.quiesce();
    machine.startRecording();
    await driver.run(load(0), load(1));
    const results = await driver.run(...all());
    checkAll(results, await machine.stopRecording());
  });

  it('is given up when the machine closes', async () => {
    const machine = await real();
    const driver = new Driver(machine);
    machine.startRecording();
    await driver.run(load(), all()[0]);
    const [, closed] = await Promise.allSettled([machine.stopRecording(), machine.close()]);
    expect(closed.status).toBe('fulfilled');
  });
});

it('comes over a network with times of the controller', async () => {
  const machine = await real();
  const server = await serveMachine(machine, { port: 0 });
  onTestFinished(() => server.close());
  const link = new RemoteLink({ address: `localhost:${server.port}`, silenceMs: 30_000 });
  onTestFinished(() => link.close());
  const events = new Recorder();
  const aheadNs = 7 * NS_PER_HOUR;
  link.start(events, () => monotonicNs() + aheadNs);
  await events.next('up');
  link.startRecording();
  const anyTime = { gpu: 0, earliestNs: 0, latestNs: Number.POSITIVE_INFINITY };
  const nothing = { batchIndex: 0, count: 0, inputs: [] };
  link.send([{ ...anyTime, ...nothing, id: 1, kind: 0, model: 0 }]);
  expect((await events.next('result')).result.status).toBe(STATUS_OK);
  const [one] = all();
  link.send([{ ...anyTime, ...nothing, ...one, id: 2, kind: INFER, model: 0 }]);
  const { result } = await events.next('result');
  const { operators, dropped } = await link.stopRecording();
  expect(dropped).toBe(0);
  expect(operators.length).toBeGreaterThan(0);
  // Estimates of the other clock may differ by the length of a round trip.
  const errorNs = 10_000_000_000;
  for (const { action, beginNs, endNs } of operators) {
    expect(action).toBe(2);
    expect(beginNs).toBeGreaterThan(result.beginNs - errorNs);
    expect(endNs).toBeLessThan(result.endNs + errorNs);
  }
});
