import { describe, expect, it, vi } from 'vitest';
import { INFER, LOAD, UNLOAD } from '../../../src/core/action.js';
import { Fleet } from '../../../src/live/controller/fleet.js';
import type { WorkerDescription } from '../../../src/live/messages.js';
import { useFakeTime } from '../../fake-time.js';
import { description, FakeWorker, gpu, served } from './fake-worker.js';
import { addTo, withController } from './harness.js';

const SECOND = 1_000_000_000;

describe('assembling', () => {
  useFakeTime();

  const assemble = async (...workers: FakeWorker[]) => {
    const assembled = new Fleet(workers).assemble(() => 0, { timeoutNs: 2 * SECOND });
    const settled = assembled.then(
      (cluster) => cluster,
      (error: Error) => error,
    );
    await vi.advanceTimersByTimeAsync(2000);
    return settled;
  };
  it('leaves out a dynamic worker that has come back with too many GPUs', async () => {
    const [known, dynamic] = [new FakeWorker('known', description(), false), new FakeWorker('dynamic')];
    const fleet = new Fleet([known], 2);
    const added = addTo(fleet, dynamic);
    const assembled = fleet.assemble(() => 0, { timeoutNs: null, minWorkers: 1, graceNs: SECOND });
    await vi.advanceTimersByTimeAsync(100);
    expect(added.phase).toBe('joining');
    await dynamic.down();
    dynamic.described = description({ gpus: [gpu(), gpu(), gpu()] });
    await dynamic.up();
    await known.up();
    await vi.advanceTimersByTimeAsync(1000);
    await assembled;
    expect([added.phase, added.gpuNumbers, fleet.room]).toEqual(['waiting', [], 1]);
  });

  it('has no worker that can be asked once it is closed', async () => {
    const fleet = new Fleet([new FakeWorker('known')]);
    const assembled = fleet.assemble(() => 0, { timeoutNs: null });
    await vi.advanceTimersByTimeAsync(100);
    await assembled;
    await fleet.close();
    let isUp = false;
    void fleet.untilUp().then(() => (isUp = true));
    await vi.advanceTimersByTimeAsync(100);
    expect(isUp).toBe(false);
  });

  it('dials a limited number of dynamic workers at once', async () => {
    const fleet = new Fleet([new FakeWorker('known')], 500);
    const assembled = fleet.assemble(() => 0, { timeoutNs: null });
    await vi.advanceTimersByTimeAsync(100);
    await assembled;
    const dynamic = Array.from({ length: 128 }, (_, i) => new FakeWorker(`host${i}`, description(), false));
    const added = dynamic.map((worker) => {
      expect(fleet.mayDial).toBe(true);
      return addTo(fleet, worker);
    });
    expect(fleet.mayDial).toBe(false);
    await dynamic[5].up();
    expect(fleet.mayDial).toBe(true);
    addTo(fleet, new FakeWorker('another', description(), false));
    expect(fleet.mayDial).toBe(false);
    // The one that never answers keeps none of the others out.
    added[7].complaint = 'connection refused';
    expect(fleet.mayDial).toBe(true);
  });

  const problem = async (...described: WorkerDescription[]) =>
    assemble(...described.map((one, i) => new FakeWorker(`host${i}:8003`, one)));

  it('numbers the GPUs of all workers, and counts on the slower profile and the smaller cache', async () => {
    const slow = served('one', {
      spec: {
        ...served('one').spec,
        execNs: [4_000_000, 4_500_000, 9_000_000],
        loadNs: 20_000_000,
        pages: 3,
      },
    });
    const [a, b] = [
      description({ gpus: [gpu({ pages: 20 }), gpu({ pages: 20 })] }),
      description({ gpus: [gpu({ pages: 8 })], models: [slow, served('two')] }),
    ];
    const cluster = await problem(a, b);
    expect(cluster).toMatchObject({
      spec: {
        gpus: 3,
        pages: 8,
        oneLane: false,
        models: [
          { name: 'one', execNs: [4_000_000, 5_000_000, 9_000_000], loadNs: 20_000_000, pages: 3 },
          { name: 'two' },
        ],
      },
    });
  });

  it('says which workers did not answer in time', async () => {
    const silent = [new FakeWorker('a:1', description(), false), new FakeWorker('b:2', description(), false)];
    expect(await assemble(new FakeWorker('c:3'), ...silent)).toMatchObject({
      code: 'E_WORKER',
      message: 'no answer from a:1, b:2 within 2000 ms: is `escapement worker` running there?',
    });
  });

  it.each<[string, Partial<WorkerDescription>, string]>([
    ['pages differ', { pageBytes: 1 }, 'their page sizes differ'],
    [
      'lanes differ',
      { gpus: [gpu({ oneLane: true })] },
      'their devices have different kinds of lanes: use one provider for all',
    ],
  ])('refuses workers where %s', async (_, over, why) => {
    expect(await problem(description(), description(over))).toMatchObject({
      code: 'E_WORKER',
      message: `workers host0:8003 and host1:8003 don't match: ${why}`,
    });
  });
});

describe('a worker that comes after the start', () => {
  const late = () => new FakeWorker('late', description(), false);

  it('says which of its GPUs have no place', async () => {
    const workers = [new FakeWorker('early'), late()];
    await withController({ workers, minWorkers: 1 }, async (run) => {
      workers[1].described = description({ gpus: [gpu(), gpu(), gpu()] });
      await workers[1].up();
      expect(run.said).toContain(
        'late is used: is up, so these GPUs are in service: 1; 2 of its GPUs are used from the next start on',
      );
      await workers[1].down('its GPU', 2);
      await workers[0].down();
      run.ask();
      await run.pass(40);
      expect(run.outcomes).toEqual(['ok']);
    });
  });

  it.each<[string, Partial<WorkerDescription>, string]>([
    [
      'a smaller cache',
      { gpus: [gpu({ pages: 5 })] },
      'the weights cache of GPU 0 has 5 pages, and the scheduler counts on 6: start it with more --memory, or start the controller again',
    ],
    [
      'other lanes',
      { gpus: [gpu({ oneLane: true })] },
      'GPU 0 has another kind of lanes: start it with the same --device as the others',
    ],
    [
      'other pages',
      { pageBytes: 1 },
      'its pages have 1 bytes, those of the cluster 10000000: start it with the same --page-size',
    ],
  ])('with %s is not used', async (_, over, why) => {
    const workers = [new FakeWorker('early'), late()];
    await withController({ workers, minWorkers: 1 }, async (run) => {
      workers[1].described = description(over);
      await workers[1].up();
      await run.pass(1);
      expect(run.said.at(-1)).toBe(`late is not used: is not accepted: ${why}`);
      run.ask();
      await run.pass(40);
      expect(run.outcomes).toEqual(['ok']);
      expect(workers[1].sent).toEqual([]);
    });
  });
});

describe('a worker that comes back', () => {
  it('with a smaller cache is not used, until it is as it was', async () => {
    const [a, b] = [description({ gpus: [gpu(), gpu()] }), description()];
    const workers = [new FakeWorker('a', a), new FakeWorker('b', b)];
    await withController({ workers }, async (run) => {
      const [first, second] = workers;
      await first.down();
      first.described = { ...a, gpus: [gpu(), gpu({ pages: 4 })] };
      await first.up();
      await run.pass(1);
      expect(run.said.at(-1)).toContain(
        'a is not used: is not readmitted: the weights cache of GPU 1 has 4 pages',
      );
      for (let i = 0; i < 4; i++) run.ask(i % 2);
      await run.pass(60);
      expect(run.outcomes).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(first.sent).toEqual([]);
      expect(second.sent.map(({ gpu }) => gpu)).not.toContain(2);
      await first.down();
      first.described = a;
      await first.up();
      await second.down();
      await run.pass(1);
      run.ask();
      await run.pass(40);
      expect(run.outcomes.at(-1)).toBe('ok');
      expect(first.kinds(INFER)).toHaveLength(1);
    });
  });

  it('with fewer GPUs is used with those, and with all once it has them again', async () => {
    const both = description({ gpus: [gpu({ pages: 9 }), gpu()] });
    const workers = [new FakeWorker('a', both), new FakeWorker('b', description())];
    await withController({ workers }, async (run) => {
      const [first, second] = workers;
      const serve = async () => {
        run.ask(0);
        run.ask(1);
        await run.pass(60);
      };
      await first.down();
      // Its cache is smaller, too, though not smaller than that of the others.
      first.described = description({ gpus: [gpu()] });
      await first.up();
      await second.down();
      await run.pass(1);
      expect(run.said).toContain(
        'a is used: is up again, so these GPUs are in service: 0; it has 1 of 2 GPUs, and the others count as gone until it has them again',
      );
      expect(run.said.filter((line) => line === 'GPU 1 up')).toHaveLength(1);
      await serve();
      expect(new Set(first.sent.map(({ gpu }) => gpu))).toEqual(new Set([0]));
      await first.down();
      first.described = both;
      await first.up();
      await run.pass(1);
      expect(run.said.slice(-3)).toEqual([
        'a is used: is up again, so these GPUs are in service: 0, 1; of 9 pages of its weights cache 6 are used, as many as the smallest had at the start',
        'GPU 0 up',
        'GPU 1 up',
      ]);
      await serve();
      expect(run.outcomes).toEqual(['ok', 'ok', 'ok', 'ok']);
    });
  });

  it('with other models is brought into line before it is used, and not used where it cannot be', async () => {
    const workers = [new FakeWorker('a'), new FakeWorker('b')];
    await withController({ workers }, async (run) => {
      const [first, second] = workers;
      await second.down();
      await first.down();
      first.described = description({
        models: [served('one'), served('two', { version: '2' }), served('new')],
      });
      first.models = [...first.described.models];
      await first.up([[0, 1, 2]]);
      await run.pass(1);
      expect(run.said.at(-1)).toBe(
        'a is not used: is not accepted: model two, version 1: there is no model two',
      );
      first.offers = [served('two')];
      first.preparing = new Promise(() => {});
      await first.down();
      await first.up([[0, 1, 2]]);
      await run.pass(1);
      await first.down('the link broke');
      expect(run.said.at(-1)).toBe('a is not used: was lost before it was in service: the link broke');
      first.preparing = Promise.resolve();
      first.changes.length = 0;
      await first.up([[0, 1, 2]]);
      await run.pass(1);
      expect(run.said.slice(-2)).toEqual([
        'a is used: is up again, so these GPUs are in service: 0',
        'GPU 0 up',
      ]);
      expect(first.changes).toEqual(['add two 1 at 1', 'drop 2']);
      for (let i = 0; i < 4; i++) run.ask(i % 2);
      await run.pass(60);
      expect(run.outcomes).toEqual(['ok', 'ok', 'ok', 'ok']);
      // Of the weights that it had, those of the model that is the same.
      expect(first.kinds(LOAD).map(({ model }) => model)).toEqual([1]);
    });
  });

  it('with more weights than the cluster has pages for is asked to drop the rest', async () => {
    const models = ['one', 'two', 'three', 'four'].map((name) => served(name));
    const large = new FakeWorker('large', description({ models, gpus: [gpu({ pages: 8 })] }));
    const small = new FakeWorker('small', description({ models }));
    await withController({ workers: [large, small] }, async (run) => {
      await large.down();
      await large.up([[3, 1, 0, 2]]);
      await run.pass(10);
      expect(large.kinds(UNLOAD).map(({ model }) => model)).toEqual([2]);
      await small.down();
      for (let model = 0; model < 4; model++) run.ask(model);
      await run.pass(80);
      expect(run.outcomes).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(large.present[0].size).toBe(3);
    });
  });
});
