import { describe, expect, it } from 'vitest';
import { INFER, LOAD } from '../../../src/core/action.js';
import { OUTCOME_NAMES } from '../../../src/core/request.js';
import { STANDS_BY } from '../../../src/live/service.js';
import { description, FakeWorker, served } from './fake-worker.js';
import { withController } from './harness.js';

const OUTCOMES = new Set<string>(OUTCOME_NAMES);
const THREE = { index: 2, reference: { name: 'three', version: '1', digest: 'd' } };

/** Workers that have no model of an earlier controller unless they say so, and could have `three`. */
function workers(...names: string[]): FakeWorker[] {
  return names.map((name) => {
    const worker = new FakeWorker(name, description(), false);
    worker.offers = [served('three', { digest: 'd' })];
    return worker;
  });
}

describe('a controller that stands by', () => {
  it('is ready to take over while the driver of all workers yields them', async () => {
    const [a, b] = workers('a', 'b');
    for (const worker of [a, b]) {
      const start = worker.start.bind(worker);
      worker.start = (events, nowNs) => {
        start(events, nowNs);
        worker.driven('another');
      };
    }
    await withController({ workers: [a, b] }, async (run) => {
      a.driven('another', true);
      expect(run.controller.state).toMatchObject({ notReady: STANDS_BY });
      b.driven('another', true);
      expect(run.controller.state).toMatchObject({ notReady: null, takesOver: true });
      a.driven('another');
      expect(run.controller.state).toMatchObject({ notReady: STANDS_BY });
    });
  });

  it('sends what waits for an answer elsewhere', async () => {
    const worker = new FakeWorker('a');
    worker.executing = false;
    await withController({ workers: [worker], sloMs: 10_000 }, async (run) => {
      worker.driven('this');
      const asked = [run.ask(0), run.ask(1)];
      await run.pass(20);
      worker.driven('none');
      await worker.down('the controller has said nothing for 1000 ms');
      await run.pass(20);
      expect(run.outcomes).toEqual(['-', '-']);
      worker.driven('another');
      expect(asked.map(({ answers }) => answers)).toEqual(
        asked.map(() => [expect.objectContaining({ error: STANDS_BY, outputs: [] })]),
      );
      worker.executing = true;
      worker.driven('this');
      await worker.up();
      run.ask(0);
      await run.pass(50);
      expect(run.outcomes.at(-1)).toBe('ok');
      // What was given up is not executed any more.
      expect(worker.kinds(INFER).filter(({ count }) => count > 0)).toHaveLength(1);
      expect(run.said.filter((line) => line === 'stands by')).toHaveLength(1);
      // Observers see what the clients got, even of a request that is in the batch of another.
      expect(run.seen.filter((line) => OUTCOMES.has(line)).sort()).toEqual(['ok', 'rejected', 'rejected']);
    });
  });
});

describe('a controller that succeeds another', () => {
  it('keeps the models of the earlier one, and loads no weights that are there', async () => {
    const [a, b] = workers('a', 'b');
    for (const worker of [a, b]) worker.start = startWith(worker, [[2]], [THREE]);
    await withController({ workers: [a, b] }, async (run) => {
      expect(run.controller.state.entries.map(({ name, index }) => [name, index])).toEqual([
        ['one', 0],
        ['two', 1],
        ['three', 2],
      ]);
      run.ask(2);
      run.ask(2);
      await run.pass(50);
      expect(run.outcomes).toEqual(['ok', 'ok']);
      expect([...a.kinds(LOAD), ...b.kinds(LOAD)]).toEqual([]);
      expect(await run.controller.addModel({ name: 'three', version: '1', digest: 'd' })).toBe(3);
    });
  });

  it('brings a worker that has something else there into line', async () => {
    const [a, b] = workers('a', 'b');
    a.start = startWith(a, [[2]], [THREE]);
    const other = { index: 2, reference: { name: 'four', version: '1', digest: 'e' } };
    b.start = startWith(b, [[2]], [other, { ...THREE, index: 5 }]);
    await withController({ workers: [a, b] }, async (run) => {
      expect(b.changes).toContain('add three 1 at 2');
      expect(run.controller.state.entries.map(({ name, index }) => [name, index])).toContainEqual([
        'three',
        2,
      ]);
      await a.down();
      run.ask(2);
      await run.pass(50);
      expect(run.outcomes).toEqual(['ok']);
      // What lay there was not this model.
      expect(b.kinds(LOAD)).toHaveLength(1);
    });
  });

  it('gives the models that it keeps to workers that came into service before', async () => {
    const [early, without, failing, late] = workers('early', 'without', 'failing', 'late');
    for (const worker of [early, without, failing]) worker.start = startWith(worker, [[]]);
    late.start = startWith(late, [[2]], [THREE]);
    let prepared = () => {};
    early.preparing = new Promise<void>((resolve) => {
      prepared = resolve;
    });
    without.lacks.add('three');
    failing.offers = [];
    await withController({ workers: [early, without, failing, late] }, async (run) => {
      run.ask(2);
      await run.pass(50);
      const loads = () => [early, without, failing, late].map((worker) => worker.kinds(LOAD).length);
      expect(loads()).toEqual([0, 0, 0, 0]);
      expect(run.said).toContain('GPU 2 down: model three, version 1: there is no model three');
      prepared();
      await run.pass(1);
      await late.down();
      run.ask(2);
      await run.pass(50);
      expect(run.outcomes).toEqual(['ok', 'ok']);
      expect(loads()).toEqual([1, 0, 0, 0]);
    });
  });
});

/** A worker that is up as soon as the controller calls, with what an earlier one left. */
function startWith(worker: FakeWorker, ...state: Parameters<FakeWorker['up']>): FakeWorker['start'] {
  const start = worker.start.bind(worker);
  return (events, nowNs) => {
    start(events, nowNs);
    queueMicrotask(() => worker.up(...state));
  };
}
