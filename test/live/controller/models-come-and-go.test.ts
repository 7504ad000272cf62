import { describe, expect, it } from 'vitest';
import { LOAD, UNLOAD } from '../../../src/core/action.js';
import { POLICIES } from '../../../src/policies/registry.js';
import { MS } from '../../sim/fixtures.js';
import { compute, FakeWorker, served } from './fake-worker.js';
import { withController } from './harness.js';

const reference = (name: string, version = '1') => ({ name, version, digest: 'd' });

/** Workers that could also have these. */
function workers(...names: string[]): FakeWorker[] {
  return names.map((name) => {
    const worker = new FakeWorker(name);
    worker.offers = [served('three'), served('one', { version: '2' })];
    return worker;
  });
}

describe('a running controller', () => {
  it.each(POLICIES.map(({ kind }) => kind))(
    'swaps a model under load and fails no request: %s',
    async (policy) => {
      const [a, b] = workers('a', 'b');
      await withController({ workers: [a, b], policy }, async (run) => {
        const { controller } = run;
        let isDone = false;
        let one = 0;
        const swap = async () => {
          one = await controller.addModel(reference('one', '2'));
          await controller.retireModel(0);
          isDone = true;
        };
        for (let i = 0; i < 60; i++) {
          if (i === 10) void swap();
          run.ask(i % 2 === 0 ? one : 1);
          await run.pass(10);
        }
        await run.pass(200);
        expect(isDone).toBe(true);
        expect(run.outcomes).toEqual(run.asked.map(() => 'ok'));
        for (const { inputs, answers } of run.asked)
          expect(answers[0].outputs).toEqual(compute(inputs as Uint8Array[], 1));
        const { entries } = controller.state;
        expect(entries.map(({ name, version, index }) => [name, version, index])).toEqual([
          ['two', '1', 1],
          ['one', '2', 2],
        ]);
        for (const worker of [a, b]) {
          expect(worker.changes).toEqual(['add one 2 at 2', 'drop 0']);
          expect(worker.present.some((models) => models.has(0))).toBe(false);
        }
        expect(controller.core.cluster.hasModel(0)).toBe(false);
      });
    },
  );

  it('takes a model only when every worker has it, and lets go of it where one can not', async () => {
    const [a, b] = workers('a', 'b');
    b.offers = [];
    await withController({ workers: [a, b] }, async (run) => {
      const before = run.controller.state;
      await expect(run.controller.addModel(reference('three'))).rejects.toThrow(
        'worker b: there is no model three',
      );
      await run.pass(1);
      expect(a.changes).toEqual(['add three 1 at 2', 'drop 2']);
      expect(run.controller.state.entries).toEqual(before.entries);
      b.offers = [served('three', { signature: { ...served().signature, batched: false } })];
      await expect(run.controller.addModel(reference('three'))).rejects.toThrow(
        "the workers don't have the same: model three has other inputs or outputs",
      );
    });
  });

  it('loads a model only where it is, also once it is elsewhere', async () => {
    const [a, b, c] = workers('a', 'b', 'c');
    a.lacks.add('three');
    c.lacks.add('three');
    await withController({ workers: [a, b, c], minWorkers: 2 }, async (run) => {
      await c.down();
      const index = await run.controller.addModel(reference('three'));
      const { core } = run.controller;
      const places = () => [0, 1, 2].filter((gpu) => !core.cluster.bars.isAbsent(index, gpu));
      for (let i = 0; i < 20; i++) {
        run.ask(index);
        await run.pass(5);
      }
      expect(places()).toEqual([1, 2]);
      await c.up();
      await run.pass(1);
      expect(places()).toEqual([1]);
      a.lacks.clear();
      await run.fleet.models.spread(index, ['a', 'c']);
      await run.pass(1);
      expect(places()).toEqual([0, 1]);
      await b.down();
      run.ask(index);
      await run.pass(60);
      expect(run.outcomes).toEqual(run.asked.map(() => 'ok'));
      expect([a, b, c].map((worker) => worker.kinds(LOAD).length)).toEqual([1, 1, 0]);
      a.lacks.add('one');
      await b.up();
      b.lacks.add('one');
      c.lacks.add('one');
      await expect(run.controller.addModel(reference('one', '2'))).rejects.toThrow(
        'no worker that is up has it',
      );
    });
  });

  it('makes room for any number of models, and serves others meanwhile', async () => {
    const [a] = workers('a');
    a.offers = Array.from({ length: 600 }, (_, i) => served(`m${i}`));
    await withController({ workers: [a], policy: 'escapement' }, async (run) => {
      const added: number[] = [];
      for (const { spec } of a.offers) {
        run.ask(added.length % 7 === 0 ? 0 : added[added.length - 1]);
        const adding = run.controller.addModel(reference(spec.name)).then((index) => added.push(index));
        await run.pass(20);
        await adding;
      }
      expect(run.controller.core.cluster.models.length).toBe(1032);
      // Some numbers are those of pipelines.
      const { core } = run.controller;
      const free = Array.from({ length: 1000 }, (_, i) => i).filter((i) => i >= 2 && !core.isPipeline(i));
      expect(added).toEqual(free.slice(0, 600));
      await run.pass(500);
      expect(new Set(run.outcomes)).toEqual(new Set(['ok']));
    });
  });

  it('refuses a model that fits no GPU', async () => {
    const [a] = workers('a');
    a.offers = [served('three', { spec: { ...served().spec, name: 'three', pages: 7 } })];
    await withController({ workers: [a] }, async ({ controller }) => {
      await expect(controller.addModel(reference('three'))).rejects.toMatchObject({
        code: 'E_MODEL_TOO_LARGE',
      });
      expect(a.changes.at(-1)).toBe('drop 2');
    });
  });

  it('gives a worker that comes up later what it lacks before it is used', async () => {
    const [a, b] = workers('a', 'b');
    await withController({ workers: [a, b] }, async (run) => {
      await b.down();
      const index = await run.controller.addModel(reference('three'));
      const retired = run.controller.retireModel(0);
      await run.pass(1);
      await retired;
      expect(b.changes).toEqual([]);
      let prepare = (_: unknown) => {};
      b.preparing = new Promise((resolve) => {
        prepare = resolve;
      });
      await b.up();
      await a.down();
      run.ask(index, 1000);
      await run.pass(50);
      expect(run.outcomes).toEqual(['-']);
      prepare(null);
      await run.pass(50);
      expect([...b.changes].sort()).toEqual([`add three 1 at ${index}`, 'drop 0']);
      expect(run.outcomes).toEqual(['ok']);
    });
  });

  it('retires a model when its requests are answered, and says so when no GPU and no worker has it', async () => {
    const [a] = workers('a');
    await withController({ workers: [a] }, async (run) => {
      run.ask(0);
      await run.pass(20);
      run.ask(0);
      let isGone = false;
      const retired = run.controller.retireModel(0).then(() => {
        isGone = true;
      });
      run.ask(0);
      await run.pass(0);
      expect(isGone).toBe(false);
      await run.pass(30);
      await retired;
      expect(run.outcomes).toEqual(['ok', 'ok', 'rejected']);
      expect(run.asked[2].answers[0].error).toBe('the model has been unloaded');
      expect(a.kinds(UNLOAD).map(({ model }) => model)).toEqual([0]);
      expect(a.changes).toEqual(['drop 0']);
      expect(a.present[0].has(0)).toBe(false);
    });
  });

  it('retires a model whose worker goes down meanwhile', async () => {
    const [a] = workers('a');
    await withController({ workers: [a] }, async (run) => {
      run.ask(0);
      await run.pass(20);
      run.ask(0);
      const retired = run.controller.retireModel(0);
      await run.pass(0);
      await a.down();
      await run.pass(200);
      await retired;
      await a.up();
      await run.pass(1);
      expect(a.changes).toEqual(['drop 0']);
      run.ask(1);
      await run.pass(40);
      expect(run.outcomes.at(-1)).toBe('ok');
    });
  });
});

it('expects of a model that comes back what its last LOADs took, and of other files what their profile says', async () => {
  const [worker] = workers('a');
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    const { controller } = run;
    const { cluster } = controller.core;
    const loadOnce = async (index: number, ms: number) => {
      worker.executing = false;
      const before = worker.kinds(LOAD).length;
      run.ask(index, 10_000);
      await run.pass(ms + 1);
      const load = worker.kinds(LOAD)[before];
      worker.executing = true;
      worker.answer(load, { beginNs: load.earliestNs, endNs: load.earliestNs + ms * MS });
      await run.pass(100);
      const retired = controller.retireModel(index);
      await run.pass(20);
      await retired;
    };
    let index = await controller.addModel(reference('three'));
    await run.pass(1);
    expect(cluster.loadNs(index)).toBe(8 * MS);
    for (const [ms, expected] of [
      [65, 65],
      [70, 70],
      // A single outlier does not count.
      [900, 70],
      [66, 70],
    ]) {
      await loadOnce(index, ms);
      index = await controller.addModel(reference('three'));
      await run.pass(1);
      expect(cluster.loadNs(index)).toBe(expected * MS);
    }
    worker.offers = [served('three', { digest: 'e' })];
    const other = await controller.addModel({ ...reference('three'), digest: 'e' });
    await run.pass(1);
    expect(cluster.loadNs(other)).toBe(8 * MS);
  });
});
