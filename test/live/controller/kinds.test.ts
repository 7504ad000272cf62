import { describe, expect, it } from 'vitest';
import { INFER } from '../../../src/core/action.js';
import { checkModel } from '../../../src/core/model.js';
import { OUTCOME_REJECTED } from '../../../src/core/request.js';
import { onKinds } from '../../../src/live/controller/cluster-of-workers.js';
import { description, FakeWorker, gpu, served } from './fake-worker.js';
import { addTo, withController } from './harness.js';

/** So slow at every batch size that a request with an SLO of 30 ms cannot be met. */
const slow = (name: string) => served(name, { spec: { ...served(name).spec, execNs: [40e6, 50e6, 60e6] } });
const t4 = (gpus = 1) =>
  description({
    kind: 't4',
    gpus: Array.from({ length: gpus }, () => gpu()),
    models: [slow('one'), slow('two')],
  });

describe('GPUs of several kinds', () => {
  it('are given only what they are fast enough for', async () => {
    const [fast, other] = [new FakeWorker('fast'), new FakeWorker('slow', t4())];
    await withController({ workers: [other, fast], sloMs: 30, admission: 'predict' }, async (run) => {
      expect([run.fleet.gpus.kindOf(0), run.fleet.gpus.kindOf(1)]).toEqual(['t4', 'cpu']);
      for (let i = 0; i < 6; i++) {
        run.ask(i % 2);
        await run.pass(30);
      }
      expect(new Set(run.outcomes)).toEqual(new Set(['ok']));
      expect(other.kinds(INFER)).toHaveLength(0);
      // With more time the slow one serves what the fast one cannot.
      await fast.down();
      const { answers } = run.ask();
      await run.pass(200);
      expect(answers).toMatchObject([
        { outcome: OUTCOME_REJECTED, error: 'no worker is up that can run the model in time' },
      ]);
      run.ask(0, 200);
      await run.pass(200);
      expect(run.outcomes.at(-1)).toBe('ok');
      expect(other.kinds(INFER)).toHaveLength(1);
    });
  });

  it('make a server ready for the models that they can run, and at no time for others', async () => {
    const [fast, other] = [new FakeWorker('fast'), new FakeWorker('slow', t4())];
    await withController({ workers: [other, fast], sloMs: 30, admission: 'predict' }, async (run) => {
      run.ask(0);
      run.ask(1);
      await run.pass(60);
      await fast.down();
      await other.down();
      const seen: string[] = [];
      run.controller.watch(() => {
        const { notReady, entries } = run.controller.state;
        seen.push(notReady ?? entries.map(({ blocked = 'ready' }) => blocked).join());
      });
      await other.up();
      await run.pass(5);
      expect(seen).toEqual([Array(2).fill('no worker is up that can run the model in time').join()]);
    });
  });

  it('come and go, each with the times of its kind, whatever had its number before', async () => {
    const [fast, other] = [new FakeWorker('fast'), new FakeWorker('slow', t4())];
    const [dynamic, next] = [new FakeWorker('dynamic', t4()), new FakeWorker('next')];
    await withController({ workers: [fast, other], maxGpus: 3, sloMs: 30 }, async (run) => {
      const { core } = run.controller;
      const a = addTo(run.fleet, dynamic);
      await run.pass(5);
      expect([a.hasJoined, run.fleet.gpus.kindOf(2), core.cluster.execNs(2, 0, 0)]).toEqual([
        true,
        't4',
        40e6,
      ]);
      run.fleet.leave(a, null);
      await dynamic.down();
      await run.pass(5);
      const b = addTo(run.fleet, next);
      await run.pass(5);
      const { execNs } = served('one').spec;
      expect([b.hasJoined, run.fleet.gpus.kindOf(2), core.cluster.execNs(2, 0, 0)]).toEqual([
        true,
        'cpu',
        execNs[0],
      ]);
      await fast.down();
      run.ask();
      await run.pass(30);
      expect(run.outcomes.at(-1)).toBe('ok');
      expect(next.kinds(INFER)).toHaveLength(1);
    });
  });

  it('must be of kinds that were there at the start', async () => {
    const stranger = new FakeWorker('stranger', description({ kind: 'h100' }));
    await withController({ workers: [new FakeWorker('fast')], maxGpus: 3 }, async (run) => {
      const added = addTo(run.fleet, stranger);
      await run.pass(1);
      expect([added.phase, added.problem]).toEqual([
        'waiting',
        'its GPUs are of kind h100, of which there were none at the start, only cpu: start the controller again when a worker of each kind is there (--min-workers)',
      ]);
    });
  });
});

it('expects of a model whose workers measured other lengths what the slowest needs for each', () => {
  const measured = (execNsByLength: Record<number, number>) => {
    const { spec, ...model } = served('texts');
    const lengths = Object.keys(execNsByLength).map(Number);
    const rows = Object.values(execNsByLength).map((ns) => [ns]);
    const times = { lengths, execNs: rows.at(-1) as number[], execNsByLength: rows };
    return { ...model, spec: { ...spec, batchSizes: [1], equalLengths: true, ...times } };
  };
  const long = { kind: 0, model: measured({ 1: 10, 2: 20, 4: 40 }) };
  const short = { kind: 1, model: measured({ 1: 30, 2: 15 }) };
  const { spec } = onKinds([long, { ...short, kind: 0 }], 1);
  expect(checkModel(spec)).toMatchObject({ lengths: [1, 2, 4], execNsByLength: [[30], [20], [40]] });
  const { spec: other } = onKinds([short, long], 2);
  expect(checkModel(other, 2)).toMatchObject({
    ...{ lengths: [1, 2], execNsByLength: [[10], [20]] },
    otherKinds: [{ execNs: [15], execNsByLength: [[30], [15]] }],
  });
});
