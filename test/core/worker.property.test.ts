import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ABORT, type Action, INFER, LOAD, STATUS_ABORTED, STATUS_OK, UNLOAD } from '../../src/core/action.js';
import { Worker } from '../../src/core/worker.js';
import { action, models } from './fixtures.js';

const order = fc.record({
  atNs: fc.nat(100),
  kind: fc.constantFrom(LOAD, LOAD, UNLOAD, INFER, INFER, INFER, ABORT),
  model: fc.nat(3),
  earliestNs: fc.nat(100),
  lengthNs: fc.nat(60),
});

type Order = typeof order extends fc.Arbitrary<infer T> ? T : never;

interface Interval {
  readonly action: Action;
  readonly what: 'input' | 'exec' | 'output' | 'load';
  readonly beginNs: number;
  endNs: number;
}

/** Drives a worker through orders that may make no sense; everything that starts takes 7, a copy 2, a stop 3. */
function drive(orders: readonly Order[], copies: boolean) {
  const results: Action[] = [];
  const intervals: Interval[] = [];
  const running: { interval: Interval; endNs: number; end: (nowNs: number) => void }[] = [];
  let execStatus = STATUS_OK;
  const start =
    (what: Interval['what'], takesNs: number, end: (nowNs: number) => void) =>
    (subject: Action, nowNs: number) => {
      const interval = { action: subject, what, beginNs: nowNs, endNs: nowNs + takesNs };
      intervals.push(interval);
      running.push({ interval, endNs: interval.endNs, end });
    };
  const worker: Worker = new Worker({
    models: models(4),
    pages: 6,
    device: {
      copies,
      startInput: start('input', 2, () => worker.copiedIn()),
      startExec: (subject, nowNs) => {
        execStatus = STATUS_OK;
        start('exec', 7, (endNs) => worker.finished(0, endNs, 1, execStatus))(subject, nowNs);
      },
      startOutput: start('output', 2, (nowNs) => worker.copiedOut(nowNs)),
      startLoad: start('load', 7, (nowNs) => worker.finished(1, nowNs, 1)),
      unload: () => {},
      abort: (nowNs) => {
        const exec = running.find(({ interval }) => interval.what === 'exec');
        if (exec === undefined || nowNs + 3 >= exec.endNs) return;
        execStatus = STATUS_ABORTED;
        exec.endNs = nowNs + 3;
        exec.interval.endNs = exec.endNs;
      },
    },
    sendResult: (subject) => results.push(subject),
  });
  const due = [...orders.entries()].sort((a, b) => a[1].atNs - b[1].atNs);
  for (;;) {
    running.sort((a, b) => a.endNs - b.endNs);
    const nowNs = Math.min(due[0]?.[1].atNs ?? Infinity, running[0]?.endNs ?? Infinity, worker.nextWakeNs());
    if (nowNs === Number.POSITIVE_INFINITY) return { worker, results, intervals };
    while (running[0]?.endNs === nowNs) running.shift()?.end(nowNs);
    while (due[0]?.[1].atNs === nowNs) {
      const [id, { kind, model, earliestNs, lengthNs }] = due.shift() as [number, Order];
      worker.receive(action(id, kind, model), earliestNs, earliestNs + lengthNs);
    }
    worker.step(nowNs);
    expect(worker.freePages).toBeGreaterThanOrEqual(0);
  }
}

describe('Worker: whatever it is given', () => {
  it('answers every action once, runs it within its window, and never two on one lane', () => {
    fc.assert(
      fc.property(fc.array(order, { maxLength: 40 }), fc.boolean(), (orders, copies) => {
        const { results, intervals } = drive(orders, copies);
        expect(results.map(({ id }) => id).sort((a, b) => a - b)).toEqual(orders.map((_, id) => id));
        for (const what of ['input', 'exec', 'output', 'load']) {
          const lane = intervals.filter((interval) => interval.what === what);
          for (let i = 1; i < lane.length; i++)
            expect(lane[i].beginNs).toBeGreaterThanOrEqual(lane[i - 1].endNs);
        }
        for (const { action: ran, what, beginNs } of intervals) {
          const { earliestNs, lengthNs } = orders[ran.id];
          if (what === 'output') continue;
          expect(beginNs).toBeGreaterThanOrEqual(earliestNs);
          expect(beginNs).toBeLessThanOrEqual(earliestNs + lengthNs);
        }
      }),
    );
  });

  it('reports success exactly where weights were there from begin to end, and times that are true', () => {
    fc.assert(
      fc.property(fc.array(order, { maxLength: 40 }), (orders) => {
        const { results, intervals } = drive(orders, false);
        const changes = results.filter(
          ({ kind, status }) => kind === UNLOAD || (kind === LOAD && status !== 51 && status !== 53),
        );
        for (const ran of results) {
          const interval = intervals.find((other) => other.action === ran);
          if (interval !== undefined)
            expect([ran.beginNs, ran.endNs]).toEqual([interval.beginNs, interval.endNs]);
          if (ran.kind !== INFER || interval === undefined) continue;
          const during = changes.some(
            ({ model, beginNs }) => model === ran.model && beginNs > ran.beginNs && beginNs < ran.endNs,
          );
          if (during) expect([84, 97]).toContain(ran.status);
          if (ran.status === 84) {
            expect(
              changes.some(
                ({ model, beginNs }) => model === ran.model && beginNs >= ran.beginNs && beginNs <= ran.endNs,
              ),
            ).toBe(true);
          }
        }
      }),
    );
  });
});
