import { expect, it } from 'vitest';
import { Clock } from '../../../src/base/clock/clock.js';
import { REAL_TIME } from '../../../src/base/world/real-time.js';
import { STATUS_DEVICE_ERROR, STATUS_INFER_TOO_LATE } from '../../../src/core/action.js';
import {
  type FrontendCalls,
  RemoteService,
  ThreadRequests,
} from '../../../src/live/frontend/thread/remote-service.js';
import type { WatchedService } from '../../../src/live/service.js';
import type { ThreadPort } from '../../../src/live/transfer.js';
import type { ThreadHandle } from '../../../src/live/world/threads.js';
import { grown, largerOf, sizesOf } from '../sizes.js';
import { description, FakeWorker, gpu } from './fake-worker.js';
import { type LiveHarness, withController } from './harness.js';

/** Until windows of measurements are full, and tables that close their gaps now and then have been as large as they get. */
const WARM_UP = 80;
const ROUNDS = 120;
/** What grows by one at each fault of one kind grows by more. */
const SLACK = 10;

it('nothing that a controller and its frontends hold grows with requests and faults', async () => {
  const gpus = [gpu(), gpu()];
  const workers = ['a', 'b'].map((name) => new FakeWorker(name, description({ gpus })));
  await withController({ workers, policy: 'fifo', hangNs: 300_000_000 }, async (run) => {
    const frontend = frontendOf(run);
    const sizes = () => {
      for (const worker of workers) worker.sent.length = 0;
      return sizesOf({ controller: run.controller, ...frontend });
    };
    let before = new Map<string, number>();
    for (let i = 0; i < WARM_UP; i++) {
      await round(run, workers, frontend, i);
      before = largerOf(before, sizes());
    }
    for (let i = 0; i < ROUNDS; i++) await round(run, workers, frontend, i);
    expect(grown(before, sizes(), SLACK)).toEqual([]);
    const asked = (WARM_UP + ROUNDS) * 4;
    expect(frontend.answered).toEqual({ size: asked, sent: asked });
    const { inFlight, answers } = run.controller as unknown as Record<'inFlight' | 'answers', object>;
    const { ofGpu } = inFlight as { readonly ofGpu: readonly Iterable<object>[] };
    expect(ofGpu.length).toBeGreaterThan(0);
    expect(ofGpu.flatMap((actions) => [...actions])).toEqual([]);
    const waiting = (answers as { readonly waiting: readonly unknown[] }).waiting;
    expect(waiting.every((request) => request === null)).toBe(true);
  });
});

interface FrontendPair {
  readonly service: RemoteService;
  readonly requests: ThreadRequests;
  /** Requests that have their answers, and answers that crossed the border. */
  readonly answered: { size: number; sent: number };
}

/** A frontend's ends of the border between threads, with nothing in between. */
function frontendOf({ controller }: LiveHarness): FrontendPair {
  const answered = { size: 0, sent: 0 };
  // `ask` takes what the frontend posts, `answer` what the service does.
  let ask: (message: unknown) => void = () => {};
  let answer: (message: unknown) => void = () => {};
  const port = {
    postMessage: (message: unknown) => ask(message),
    on: (_: string, heard: typeof answer) => (answer = heard),
  };
  const post = (message: readonly [id: number, method: string, args: readonly (readonly number[])[]]) => {
    const [, method, [packed]] = message;
    // Each has its slot, the number of its tensors, these, and eight fields.
    if (method === 'answers')
      for (let at = 0; at < packed.length; at += 2 + packed[at + 1] + 8) answered.sent++;
    answer(message);
  };
  const thread = {
    on: (_: string, heard: typeof ask) => (ask = heard),
    postMessage: post,
  } as unknown as ThreadHandle;
  const service = new RemoteService(
    controller.state,
    new Clock(REAL_TIME, 0),
    port as unknown as ThreadPort,
    {} as FrontendCalls,
  );
  const requests = new ThreadRequests(controller as unknown as WatchedService, thread, () => {});
  return { service, requests, answered };
}

/** Requests with time and without, and in turn each fault. */
async function round(
  run: LiveHarness,
  workers: readonly FakeWorker[],
  { service, answered }: FrontendPair,
  number: number,
): Promise<void> {
  const worker = workers[number % 2];
  const what = FAULTS[number % FAULTS.length];
  if (what === 'breaks') worker.broken = [0, 1];
  if (what === 'stalls' || what === 'fails') worker.executing = false;
  for (let i = 0; i < 8; i++) run.ask(i % 2, i % 4 === 0 ? 3 : 250);
  for (let i = 0; i < 4; i++) {
    const inputs = [new Uint8Array([1, 2, 3]), new Uint8Array([4, 5])];
    const arrivalNs = run.controller.nowNs();
    const done = () => {
      answered.size++;
    };
    service.infer({ model: i % 2, user: 0, sloNs: 100_000_000, arrivalNs, inputs, done });
  }
  await run.pass(5);
  if (what === 'goes down') worker.down();
  if (what === 'loses a GPU') worker.down('its thread has died', 1);
  if (what === 'fails')
    for (const action of worker.sent.slice(-4))
      worker.answer(action, { status: number % 3 === 0 ? STATUS_DEVICE_ERROR : STATUS_INFER_TOO_LATE });
  await run.pass(1000);
  worker.executing = true;
  worker.broken = [];
  if (what !== 'nothing') {
    await worker.down('is started again');
    await worker.up();
  }
  await run.pass(2000);
}

const FAULTS = ['nothing', 'goes down', 'loses a GPU', 'stalls', 'breaks', 'fails'] as const;
