import { expect, it } from 'vitest';
import { INFER, LOAD, STATUS_ABORTED, STATUS_DEVICE_ERROR, STATUS_OK } from '../../../../src/core/action.js';
import type { Worker } from '../../../../src/core/worker.js';
import { LiveAction } from '../../../../src/live/worker/executor/executor-loop.js';
import { SimulatedDevice } from '../../../../src/live/worker/executor/simulated-device.js';
import { smallModels } from '../../../serve/fixtures.js';
import { DeviceFaults } from '../device-faults.js';
import { FaultyDevice } from './faulty-device.js';

const MS = 1e6;
/** A LOAD takes 2 ms, an INFER 10 ms. */
const MODELS = smallModels(1, 1, [10, 10, 10]);

/** A device whose worker writes down what has ended, when by its word, and when it heard of it. */
function given() {
  const faults = new DeviceFaults();
  const taps: string[] = [];
  const device = new FaultyDevice(
    new SimulatedDevice({ kind: 'simulated', timeScale: 1 }, MODELS),
    MODELS,
    faults,
    {
      began: ({ id }, nowNs) => taps.push(`${nowNs / MS} began ${id}`),
      ended: ({ id }, status, nowNs) => taps.push(`${nowNs / MS} ended ${id} ${status}`),
      unloaded: (model) => taps.push(`unloaded ${model}`),
    },
  );
  const ends: (readonly [lane: number, endMs: number, status: number])[] = [];
  const worker = {
    finished: (lane: number, endNs: number, _clock: number, status: number) =>
      ends.push([lane, endNs / MS, status]),
  } as unknown as Worker;
  const collect = (ms: number) => {
    device.collect(worker, ms * MS);
    return ends.splice(0);
  };
  /** What has ended up to this time, looking whenever the device wants it. */
  const until = (ms: number) => {
    for (let next = device.nextEndNs; next <= ms * MS; next = device.nextEndNs) device.collect(worker, next);
    return collect(ms);
  };
  return { faults, device, taps, until, collect };
}

function action(id: number, kind: typeof INFER | typeof LOAD): LiveAction {
  const window = { earliestNs: 0, latestNs: 1e12 };
  return new LiveAction({ id, kind, gpu: 0, model: 0, batchIndex: 0, count: 1, ...window, inputs: [] });
}

it('is a simulated device as long as nothing is wrong', () => {
  const { device, taps, until } = given();
  device.startExec(action(1, INFER), 0);
  device.startLoad(action(2, LOAD), MS);
  expect(device.nextEndNs).toBe(3 * MS);
  expect(until(9)).toEqual([[1, 3, STATUS_OK]]);
  expect(until(20)).toEqual([[0, 10, STATUS_OK]]);
  device.unload(0);
  expect(taps).toEqual(['0 began 1', '1 began 2', '3 ended 2 0', '10 ended 1 0', 'unloaded 0']);
});

it('is slow with what begins meanwhile', () => {
  const { faults, device, until } = given();
  faults.slowness = 3;
  device.startExec(action(1, INFER), 0);
  faults.slowness = 1;
  device.startLoad(action(2, LOAD), 0);
  expect(until(100)).toEqual([
    [1, 2, STATUS_OK],
    [0, 30, STATUS_OK],
  ]);
});

it('ends what runs only when it does not hang any more', () => {
  const { faults, device, until, collect } = given();
  let changes = 0;
  faults.changed = () => changes++;
  device.startExec(action(1, INFER), 0);
  faults.hangs = true;
  expect([device.nextEndNs, device.busy]).toEqual([Number.POSITIVE_INFINITY, true]);
  expect(until(50)).toEqual([]);
  faults.hangs = false;
  expect(collect(60)).toEqual([[0, 60, STATUS_OK]]);
  expect(changes).toBe(2);
});

it('fails as often as it is to', () => {
  const { faults, device, until } = given();
  faults.failNext = 1;
  const [first, second] = [action(1, INFER), action(2, INFER)];
  device.startExec(first, 0);
  expect(until(10)).toEqual([[0, 10, STATUS_DEVICE_ERROR]]);
  device.startExec(second, 10 * MS);
  expect(until(20)).toEqual([[0, 20, STATUS_OK]]);
  expect([first.error, second.error]).toEqual(['a device fault of the plan', '']);
});

it('has no memory for a LOAD, but goes on with INFERs', () => {
  const { faults, device, until } = given();
  faults.isOutOfMemory = true;
  const load = action(1, LOAD);
  device.startLoad(load, 0);
  device.startExec(action(2, INFER), 0);
  expect(until(20)).toEqual([
    [1, 2, STATUS_DEVICE_ERROR],
    [0, 10, STATUS_OK],
  ]);
  expect(load.error).toContain('out of memory');
});

it('is noticed late, and says when it was', () => {
  const { faults, device, until } = given();
  faults.lateByNs = 5 * MS;
  device.startExec(action(1, INFER), 0);
  expect(device.nextEndNs).toBe(15 * MS);
  expect(until(14)).toEqual([]);
  expect(until(15)).toEqual([[0, 10, STATUS_OK]]);
});

it('stops what runs when it is asked to', () => {
  const { device, until } = given();
  device.startExec(action(1, INFER), 0);
  device.abort(2 * MS);
  expect(until(20)).toEqual([[0, 3, STATUS_ABORTED]]);
});
