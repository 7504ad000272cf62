import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/base/invariant.js';
import {
  ABORT,
  type Action,
  type ActionKind,
  INFER,
  LOAD,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  STATUS_OK,
  UNLOAD,
} from '../../src/core/action.js';
import type { DevicePort } from '../../src/core/device-port.js';
import { Worker } from '../../src/core/worker.js';
import { action, models } from './fixtures.js';
import { LiteralWorker } from './literal-worker.js';
import { WorkerHarness } from './worker-harness.js';

const DROP = 'drop';
const PAGES = 6;

const order = fc.record({
  atNs: fc.nat(150),
  /** `DROP`: what waits is dropped. */
  kind: fc.oneof(
    { weight: 9, arbitrary: fc.constant(INFER) },
    { weight: 4, arbitrary: fc.constant(LOAD) },
    { weight: 1, arbitrary: fc.constantFrom<ActionKind | typeof DROP>(UNLOAD, UNLOAD, ABORT, DROP) },
  ),
  // Mostly one that is there.
  model: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3),
  earliestNs: fc.oneof(fc.nat(20), fc.nat(100)),
  lengthNs: fc.oneof(fc.nat(20), fc.nat(200)),
  /** What its device says, if it is not stopped. */
  status: fc.constantFrom(STATUS_OK, STATUS_OK, STATUS_OK, STATUS_DEVICE_ERROR),
});
const setUp = fc.record({
  orders: fc.array(order, { maxLength: 40 }),
  copies: fc.boolean(),
  oneLane: fc.boolean(),
  /** Of a device that announces when an action will really begin. */
  overheadNs: fc.constantFrom(0, 20),
  outputNs: fc.constantFrom(2, 12),
  /** How long it takes to stop. */
  stopNs: fc.constantFrom(null, 3),
});
type SetUp = typeof setUp extends fc.Arbitrary<infer T> ? T : never;

/** Drives a worker, also at each instant if it is asked to; everything that starts takes 7 ns, an INPUT copy 2. All that could be seen. */
function drive({ orders, copies, oneLane, overheadNs, outputNs, stopNs }: SetUp, isLiteral: boolean) {
  const seen: (string | number)[][] = [];
  const running: { what: string; endNs: number; status: number; end(nowNs: number, status: number): void }[] =
    [];
  const start =
    (what: string, takesNs: number, end: (nowNs: number, status: number) => void) =>
    (subject: Action, nowNs: number) => {
      seen.push([what, subject.id, nowNs]);
      const status = orders[subject.id]!.status;
      running.push({ what, endNs: nowNs + takesNs, status, end });
    };
  const exec = start('exec', overheadNs + 7, (nowNs, status) => worker.finished(0, nowNs, 0.5, status));
  const device: DevicePort = {
    copies,
    startInput: start('input', 2, () => worker.copiedIn()),
    startExec: (subject, nowNs) => {
      if (overheadNs > 0) subject.beginNs = nowNs + overheadNs;
      exec(subject, nowNs);
    },
    startOutput: start('output', outputNs, (nowNs) => worker.copiedOut(nowNs)),
    startLoad: start('load', 7, (nowNs, status) => worker.finished(1, nowNs, 1, status)),
    unload: (model) => seen.push(['unload', model]),
    ...(stopNs === null ? {} : { abort }),
  };
  function abort(nowNs: number): void {
    seen.push(['abort', nowNs]);
    const one = running.find(({ what }) => what === 'exec');
    if (one === undefined || nowNs + stopNs! >= one.endNs) return;
    Object.assign(one, { endNs: nowNs + stopNs!, status: STATUS_ABORTED });
  }
  const sendResult = ({ id, status, beginNs, endNs, clock }: Action) =>
    seen.push(['result', id, status, beginNs, endNs, clock]);
  const Made: typeof Worker | typeof LiteralWorker = isLiteral ? LiteralWorker : Worker;
  const worker = new Made({ models: models(4), pages: PAGES, oneLane, device, sendResult });
  const due = [...orders.entries()].sort((a, b) => a[1].atNs - b[1].atNs);
  for (let nowNs = 0; nowNs < 1000; nowNs++) {
    running.sort((a, b) => a.endNs - b.endNs);
    const isDue = due[0]?.[1].atNs === nowNs || running[0]?.endNs === nowNs;
    if (!isLiteral && !isDue && (worker as Worker).nextWakeNs() !== nowNs) continue;
    while (running[0]?.endNs === nowNs) {
      const { end, status } = running.shift()!;
      end(nowNs, status);
    }
    while (due[0]?.[1].atNs === nowNs) {
      const [id, { kind, model, earliestNs, lengthNs }] = due.shift()!;
      if (kind === DROP) worker.dropWaiting();
      else worker.receive(action(id, kind, model), earliestNs, earliestNs + lengthNs);
    }
    worker.step(nowNs);
    const present = [0, 1, 2, 3].map((model) => Number(worker.isPresent(model)));
    if (isDue) seen.push(['state', nowNs, worker.freePages, ...present]);
  }
  return seen;
}

describe('Worker', () => {
  it('does what its rules say when they are looked up at each instant', () => {
    fc.assert(
      fc.property(setUp, (drawn) => {
        expect(drive(drawn, false)).toEqual(drive(drawn, true));
      }),
      { numRuns: 1000 },
    );
  });

  it('breaks off at an end of something that does not run', () => {
    const { worker } = new WorkerHarness(true);
    expect(() => worker.finished(0, 1, 1)).toThrow(InvariantError);
    expect(() => worker.finished(1, 1, 1)).toThrow(InvariantError);
    expect(() => worker.copiedIn()).toThrow(InvariantError);
    expect(() => worker.copiedOut(1)).toThrow(InvariantError);
  });
});
