import { expect, it } from 'vitest';
import { REAL_TIME } from '../../../src/base/world/real-time.js';
import { Action, INFER, STATUS_INFER_TOO_LATE } from '../../../src/core/action.js';
import { Fleet } from '../../../src/live/controller/fleet.js';
import { Departures } from '../../../src/live/controller/in-flight.js';
import { buffersOf } from '../../../src/live/transfer.js';
import { FakeWorker } from './fake-worker.js';
import { withController } from './harness.js';

it('tries a request again with its inputs, of which its worker had copies', async () => {
  const worker = new FakeWorker('local');
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    worker.executing = true;
    run.ask();
    await run.pass(120);
    worker.executing = false;
    const { inputs } = run.ask();
    await run.pass(12);
    const [, action] = worker.kinds(INFER);
    expect(action.inputs).toEqual(inputs);
    const buffers = buffersOf([action.inputs]);
    structuredClone(buffers, { transfer: buffers });
    worker.executing = true;
    worker.answer({ ...action, inputs }, { status: STATUS_INFER_TOO_LATE, outputs: [] });
    await run.pass(60);
    expect(run.outcomes).toEqual(['ok', 'ok']);
    expect(worker.kinds(INFER).at(-1)?.inputs).toEqual(inputs);
  });
});

it('adds to a window what deciding and copying inputs has taken', async () => {
  const worker = new FakeWorker('local');
  worker.executing = false;
  const fleet = new Fleet([worker]);
  const { models } = await fleet.assemble(() => 0, { timeoutNs: null });
  const nothing = () => {};
  const ready = new Promise<void>((resolve) =>
    fleet.begin({
      ...{ gpuDown: nothing, standsBy: nothing, workerLeft: nothing, worker: nothing },
      ...{ modelFound: async () => false, modelMoved: nothing, yielded: nothing },
      gpuUp: () => resolve(),
    }),
  );
  await ready;
  const clock = { nowNs: () => 20e6, time: REAL_TIME, originNs: 0 };
  const departures = new Departures(fleet.gpus, models, clock, nothing);
  const action = Object.assign(new Action(1), { id: 1, kind: INFER, count: 1, latestNs: 10e6 });
  departures.add(action);
  const inputs = [new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])];
  departures.leave(0, [{ model: 0, user: 0, sloNs: 1, inputs, done: nothing }]);
  fleet.gpus.flush();
  expect(worker.sent).toMatchObject([{ latestNs: 30e6, inputs }]);
});
