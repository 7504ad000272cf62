import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../src/base/invariant.js';
import {
  ABORT,
  INFER,
  LANE_WEIGHTS,
  LOAD,
  STATUS_ABORTED,
  STATUS_DEVICE_ERROR,
  UNLOAD,
} from '../../src/core/action.js';
import { Worker } from '../../src/core/worker.js';
import { action, models } from './fixtures.js';
import { WorkerHarness } from './worker-harness.js';

const NEVER = Number.POSITIVE_INFINITY;
const ANY: readonly [number, number] = [0, NEVER];

/** A worker that holds models 0 and 1. */
function warm(copies = false): WorkerHarness {
  const harness = new WorkerHarness(copies);
  for (const model of [0, 1]) {
    harness.send(model, LOAD, model, ANY, 0);
    harness.endLoad(0);
  }
  harness.results.length = 0;
  harness.started.length = 0;
  return harness;
}

describe('Worker: windows', () => {
  it('refuses with 81 an INFER, and with 51 a LOAD, that did not start in time; it costs no time', () => {
    const harness = warm();
    harness.send(7, INFER, 0, [10, 20], 21);
    harness.send(8, LOAD, 2, [10, 20], 21);
    expect(harness.results).toEqual([
      [7, 81, 21, 21],
      [8, 51, 21, 21],
    ]);
    expect(harness.started).toEqual([]);
    expect(harness.worker.freePages).toBe(2);
  });

  it('refuses what became too late while the lane was busy, and goes on with the next', () => {
    const harness = warm();
    harness.send(1, INFER, 0, [0, 10], 0);
    harness.send(2, INFER, 0, [0, 10], 1);
    harness.send(3, INFER, 0, [1, 40], 1);
    harness.endExec(30);
    expect(harness.results).toEqual([
      [1, 0, 0, 30],
      [2, 81, 30, 30],
    ]);
    expect(harness.started.at(-1)).toEqual({ what: 'exec', id: 3, nowNs: 30 });
  });
});

describe('Worker: dropping what waits', () => {
  it('never answers it, and lets what runs end', () => {
    const harness = warm(true);
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, INFER, 0, ANY, 0);
    harness.endInput(1);
    harness.send(3, LOAD, 2, ANY, 1);
    for (const [id, kind] of [
      [4, INFER],
      [5, LOAD],
      [6, UNLOAD],
    ] as const) {
      harness.send(id, kind, 0, ANY, 1);
    }
    harness.worker.dropWaiting();
    harness.endInput(2);
    harness.endLoad(8);
    harness.endExec(9);
    harness.endExec(15);
    harness.endOutput(16);
    harness.endOutput(17);
    expect(harness.results.map(([id, status]) => [id, status])).toEqual([
      [3, 0],
      [1, 0],
      [2, 0],
    ]);
    expect(harness.worker.nextWakeNs()).toBe(NEVER);
    harness.send(7, INFER, 0, ANY, 20);
    expect(harness.started.at(-1)).toEqual({ what: 'input', id: 7, nowNs: 20 });
  });
});

describe('Worker: lanes', () => {
  it('is woken by the clock for idle lanes only', () => {
    const harness = warm();
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, INFER, 0, [5, NEVER], 0);
    expect(harness.worker.nextWakeNs()).toBe(NEVER);
    harness.send(3, LOAD, 2, [9, NEVER], 0);
    expect(harness.worker.nextWakeNs()).toBe(9);
  });
});

describe('Worker: weights', () => {
  it('counts weights as present when the LOAD ends: until then an INFER is refused with 82', () => {
    const harness = new WorkerHarness();
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, LOAD, 0, ANY, 0);
    harness.send(3, INFER, 0, ANY, 4);
    expect(harness.worker.isPresent(0)).toBe(false);
    harness.endLoad(8);
    expect(harness.worker.isPresent(0)).toBe(true);
    harness.send(4, INFER, 0, ANY, 8);
    expect(harness.results).toEqual([
      [1, 82, 0, 0],
      [3, 82, 4, 4],
      [2, 0, 0, 8],
    ]);
    expect(harness.started.at(-1)?.id).toBe(4);
  });

  it('refuses with 53 a LOAD for which pages are missing', () => {
    const harness = warm();
    harness.send(5, LOAD, 2, ANY, 0);
    harness.send(6, LOAD, 3, ANY, 0);
    harness.endLoad(8);
    expect(harness.results).toEqual([
      [5, 0, 0, 8],
      [6, 53, 8, 8],
    ]);
    expect(harness.worker.freePages).toBe(0);
  });

  it('drops weights on UNLOAD at once: it takes no time and frees the pages for a LOAD that waits', () => {
    const harness = new WorkerHarness(false, models(4, { pages: 6 }));
    harness.send(1, LOAD, 0, ANY, 0);
    harness.endLoad(8);
    harness.send(2, LOAD, 1, [20, 30], 9);
    harness.send(3, UNLOAD, 0, ANY, 10);
    expect(harness.results.at(-1)).toEqual([3, 0, 10, 10]);
    expect([harness.worker.isPresent(0), harness.worker.freePages]).toEqual([false, 6]);
    harness.worker.step(20);
    expect(harness.started.at(-1)).toEqual({ what: 'load', id: 2, nowNs: 20 });
  });

  it('lets an UNLOAD wait for a running LOAD, and go ahead of LOADs that have not begun', () => {
    const harness = warm();
    harness.send(5, LOAD, 2, [1, NEVER], 1);
    harness.send(6, LOAD, 3, [2, NEVER], 2);
    harness.send(7, UNLOAD, 0, ANY, 3);
    expect(harness.results).toEqual([]);
    expect(harness.worker.isPresent(0)).toBe(true);
    harness.endLoad(9);
    expect(harness.results).toEqual([
      [5, 0, 1, 9],
      [7, 0, 9, 9],
    ]);
    expect(harness.started.at(-1)).toEqual({ what: 'load', id: 6, nowNs: 9 });
  });

  it('loads a model that is there in place of itself: pages are counted once, and it is absent meanwhile', () => {
    const harness = warm();
    harness.send(1, LOAD, 0, ANY, 0);
    expect([harness.worker.freePages, harness.worker.isPresent(0)]).toEqual([2, false]);
    harness.endLoad(8);
    expect([harness.worker.freePages, harness.worker.isPresent(0)]).toEqual([2, true]);
  });

  it('keeps no pages for a LOAD that the device failed at', () => {
    const harness = new WorkerHarness();
    harness.send(1, LOAD, 0, ANY, 0);
    expect(harness.worker.freePages).toBe(4);
    harness.endLoad(8, STATUS_DEVICE_ERROR);
    expect([harness.worker.freePages, harness.worker.isPresent(0)]).toEqual([6, false]);
    expect(harness.results).toEqual([[1, STATUS_DEVICE_ERROR, 0, 8]]);
  });
});

describe('Worker: INPUT and OUTPUT copies', () => {
  it('overlap EXEC: the next input comes in, and the last output goes out, while a batch runs', () => {
    const harness = warm(true);
    harness.send(1, INFER, 0, [0, 50], 0);
    harness.send(2, INFER, 0, [0, 50], 0);
    harness.endInput(2);
    harness.endInput(4);
    harness.endExec(10);
    expect(harness.started).toEqual([
      { what: 'input', id: 1, nowNs: 0 },
      { what: 'exec', id: 1, nowNs: 2 },
      { what: 'input', id: 2, nowNs: 2 },
      { what: 'output', id: 1, nowNs: 10 },
      { what: 'exec', id: 2, nowNs: 10 },
    ]);
    expect(harness.results).toEqual([]);
    harness.endOutput(11);
    // What is measured is the execution alone.
    expect(harness.results).toEqual([[1, 0, 2, 10]]);
  });

  it('begin no earlier than the window, and leave EXEC bound by its end', () => {
    const harness = warm(true);
    harness.send(1, INFER, 0, [10, 20], 5);
    expect(harness.worker.nextWakeNs()).toBe(10);
    harness.worker.step(10);
    harness.endInput(21);
    expect(harness.results).toEqual([[1, 81, 21, 21]]);
    harness.send(2, INFER, 0, [10, 20], 22);
    expect(harness.results.at(-1)).toEqual([2, 81, 22, 22]);
  });
});

describe('Worker: broken promises are invariant failures', () => {
  it('an end of something that does not run', () => {
    const harness = new WorkerHarness(true);
    expect(() => harness.worker.finished(0, 1, 1)).toThrow(InvariantError);
    expect(() => harness.worker.finished(1, 1, 1)).toThrow(InvariantError);
    expect(() => harness.worker.copiedIn()).toThrow(InvariantError);
    expect(() => harness.worker.copiedOut(1)).toThrow(InvariantError);
  });
});

describe('Worker: ABORT', () => {
  it('answers every INFER that waits with 97, in order, asks the device to stop the one that runs, then is answered', () => {
    const harness = warm();
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, INFER, 1, ANY, 1);
    harness.send(3, INFER, 0, [50, 60], 1);
    harness.send(4, ABORT, 0, ANY, 5);
    expect(harness.results).toEqual([
      [2, 97, 5, 5],
      [3, 97, 5, 5],
      [4, 0, 5, 5],
    ]);
    expect(harness.started).toEqual([
      { what: 'exec', id: 1, nowNs: 0 },
      { what: 'abort', id: -1, nowNs: 5 },
    ]);
    harness.endExec(6, 1, STATUS_ABORTED);
    expect(harness.results.at(-1)).toEqual([1, 97, 0, 6]);
  });

  it('keeps the lane taken until the device has stopped, and then goes on with what came after', () => {
    const harness = warm();
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, ABORT, 0, ANY, 5);
    harness.send(3, INFER, 1, ANY, 5);
    expect(harness.started.map(({ what }) => what)).toEqual(['exec', 'abort']);
    harness.endExec(6, 1, STATUS_ABORTED);
    expect(harness.started.at(-1)).toEqual({ what: 'exec', id: 3, nowNs: 6 });
  });

  it('is answered at once where nothing runs or waits, and asks the device for nothing', () => {
    const harness = warm();
    harness.send(1, ABORT, 0, ANY, 5);
    expect(harness.results).toEqual([[1, 0, 5, 5]]);
    expect(harness.started).toEqual([]);
    harness.send(2, INFER, 0, ANY, 6);
    harness.endExec(9);
    expect(harness.results.at(-1)).toEqual([2, 0, 6, 9]);
  });

  it('leaves an INFER that ends at the same instant as it is', () => {
    const harness = warm();
    harness.send(1, INFER, 0, ANY, 0);
    harness.worker.receive(action(2, ABORT), 0, NEVER);
    harness.endExec(3);
    expect(harness.results).toEqual([
      [1, 0, 0, 3],
      [2, 0, 3, 3],
    ]);
    expect(harness.started).toHaveLength(1);
  });

  it('lets an INFER end as ever on a device that does not stop', () => {
    const harness = warm();
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, ABORT, 0, ANY, 1);
    harness.endExec(3);
    expect(harness.results).toEqual([
      [2, 0, 1, 1],
      [1, 0, 0, 3],
    ]);
  });

  it('touches no LOAD, on a lane of its own or on one that is shared', () => {
    for (const oneLane of [false, true]) {
      const results: number[][] = [];
      const worker: Worker = new Worker({
        models: models(2),
        pages: 6,
        oneLane,
        device: {
          copies: false,
          startInput: () => {},
          startExec: () => {},
          startOutput: () => {},
          startLoad: () => {},
          unload: () => {},
        },
        sendResult: ({ id, status }) => results.push([id, status]),
      });
      worker.receive(action(1, LOAD, 0), 0, NEVER);
      worker.step(0);
      worker.receive(action(2, INFER, 0), 5, NEVER);
      worker.receive(action(3, LOAD, 1), 6, NEVER);
      worker.receive(action(4, ABORT), 0, NEVER);
      worker.step(1);
      worker.finished(LANE_WEIGHTS, 8, 1);
      worker.step(8);
      worker.finished(LANE_WEIGHTS, 16, 1);
      expect(results).toEqual([
        [2, 97],
        [4, 0],
        [1, 0],
        [3, 0],
      ]);
    }
  });

  it('lets an INFER whose INPUT is being copied go on, and calls off those behind it', () => {
    const harness = warm(true);
    harness.send(1, INFER, 0, ANY, 0);
    harness.send(2, INFER, 0, ANY, 0);
    harness.send(3, ABORT, 0, ANY, 1);
    expect(harness.results).toEqual([
      [2, 97, 1, 1],
      [3, 0, 1, 1],
    ]);
    harness.endInput(2);
    harness.endExec(5);
    harness.endOutput(6);
    expect(harness.results.at(-1)).toEqual([1, 0, 2, 5]);
  });

  it('an INFER that was aborted has no OUTPUT, and took no time before the begin that its device announced', () => {
    const harness = warm(true);
    const ran = action(1, INFER);
    harness.worker.receive(ran, 0, NEVER);
    harness.worker.step(0);
    harness.endInput(1);
    ran.beginNs = 10;
    harness.send(2, ABORT, 0, ANY, 4);
    harness.endExec(5, 1, STATUS_ABORTED);
    expect(harness.results.at(-1)).toEqual([1, 97, 5, 5]);
    expect(harness.started.map(({ what }) => what)).toEqual(['input', 'exec', 'abort']);
  });
});
