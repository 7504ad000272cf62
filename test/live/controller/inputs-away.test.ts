import { expect, it } from 'vitest';
import { INFER, STATUS_INFER_TOO_LATE } from '../../../src/core/action.js';
import { OUTCOME_NAMES } from '../../../src/core/request.js';
import { FakeWorker } from './fake-worker.js';
import { type LiveHarness, withController } from './harness.js';

/** A request whose inputs go over to the thread of the GPU, as those of frontend threads do. */
function askMovable({ controller }: LiveHarness) {
  const answers: string[] = [];
  const request = {
    model: 0,
    user: 0,
    sloNs: 90_000_000,
    inputs: [new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])] as readonly Uint8Array[],
    mayMove: true,
    done: ({ outcome, error }: { outcome: number; error: string }) =>
      answers.push(`${OUTCOME_NAMES[outcome]} ${error}`.trim()),
  };
  controller.infer(request);
  return { request, answers };
}

/** What transferring them to a thread does. */
function detach(inputs: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  const buffers = inputs.map(({ buffer }) => buffer as ArrayBuffer);
  return structuredClone(inputs as Uint8Array<ArrayBuffer>[], { transfer: buffers });
}

it('tries a request again with the inputs that came back with its result', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    run.ask();
    await run.pass(120);
    worker.executing = false;
    const { request, answers } = askMovable(run);
    await run.pass(12);
    const [, action] = worker.kinds(INFER);
    const kept = detach(action.inputs);
    expect(request.inputs.map(({ length }) => length)).toEqual([0, 0]);
    worker.executing = true;
    worker.answer({ ...action, inputs: kept }, { status: STATUS_INFER_TOO_LATE, outputs: [], inputs: kept });
    await run.pass(60);
    expect(answers).toEqual(['ok']);
    expect(request.inputs).toEqual(kept);
    expect(worker.kinds(INFER).at(-1)?.inputs).toEqual([new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])]);
  });
});

it('answers a request at once whose inputs were lost with the GPU, and does not send it again', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    run.ask();
    await run.pass(120);
    worker.executing = false;
    const { answers } = askMovable(run);
    await run.pass(12);
    const sent = worker.kinds(INFER);
    detach(sent[1].inputs);
    worker.executing = true;
    worker.down('it died');
    await run.pass(1);
    expect(answers).toEqual(['error its inputs were lost with the thread that was to run it; send it again']);
    worker.up();
    await run.pass(80);
    expect(answers).toHaveLength(1);
    expect(worker.kinds(INFER)).toHaveLength(sent.length);
  });
});
