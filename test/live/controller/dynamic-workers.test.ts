import { describe, expect, it } from 'vitest';
import { INFER } from '../../../src/core/action.js';
import { description, FakeWorker, gpu, served } from './fake-worker.js';
import { addTo, type LiveHarness, withController } from './harness.js';

const two = () => description({ gpus: [gpu(), gpu()] });

/** What is asked for is served by that worker alone. */
async function servesOn(worker: FakeWorker, run: LiveHarness): Promise<void> {
  const before = worker.kinds(INFER).length;
  run.ask();
  await run.pass(60);
  expect(run.outcomes.at(-1)).toBe('ok');
  expect(worker.kinds(INFER)).toHaveLength(before + 1);
}

describe('a dynamic worker', () => {
  it('joins a cluster that runs, serves, and makes room for another when it has left', async () => {
    const [known, first, second] = [
      new FakeWorker('known'),
      new FakeWorker('a', two()),
      new FakeWorker('b', two()),
    ];
    await withController({ workers: [known], dynamic: [first, second], maxGpus: 3 }, async (run) => {
      const a = addTo(run.fleet, first);
      await run.pass(1);
      expect([a.hasJoined, a.isConnected, run.fleet.room]).toEqual([true, true, 0]);
      expect([0, 1, 2].map((each) => run.fleet.gpus.nameOf(each))).toEqual(['known', 'a', 'a']);
      await known.down();
      await servesOn(first, run);
      await known.up();
      const b = addTo(run.fleet, second);
      await run.pass(1);
      expect([b.hasJoined, b.phase, b.problem]).toEqual([
        false,
        'waiting',
        'waits for room: it has 2 GPUs, and --max-gpus leaves room for no more GPUs; stop another worker, or start the controller with a larger --max-gpus',
      ]);
      run.fleet.leave(a, null);
      expect(a.hasLeft).toBe(false);
      await first.down('the worker shuts down');
      expect([a.hasLeft, first.closed]).toEqual([true, true]);
      expect(run.said).toContain('a has left');
      // The other has waited for that.
      await run.pass(1);
      expect([b.hasJoined, b.problem, run.fleet.room]).toEqual([true, '', 0]);
      expect(run.said).toContain(
        'a is not used: is down, so these GPUs are out of service: 1, 2: the worker shuts down (as asked)',
      );
      await known.down();
      expect(run.fleet.gpus.nameOf(1)).toEqual('b');
      await servesOn(second, run);
    });
  });

  it('that is to leave at once gives back what it has under way, which is served elsewhere', async () => {
    const [known, dynamic] = [new FakeWorker('known'), new FakeWorker('dynamic')];
    await withController({ workers: [known], dynamic: [dynamic], maxGpus: 2, sloMs: 500 }, async (run) => {
      const joined = addTo(run.fleet, dynamic);
      await known.down();
      dynamic.executing = false;
      await run.pass(1);
      run.ask();
      await run.pass(20);
      expect(dynamic.sent.length).toBeGreaterThan(0);
      await known.up();
      run.fleet.leave(joined, 'it is overdue');
      await run.pass(1);
      expect([joined.hasLeft, run.fleet.room]).toEqual([true, 1]);
      expect(run.said).toContain('GPU 1 down: it is overdue');
      await run.pass(60);
      expect(run.outcomes).toEqual(['ok']);
    });
  });

  it('that cannot have the models is not used, and says why, until it can', async () => {
    const [known, dynamic] = [
      new FakeWorker('known'),
      new FakeWorker('dynamic', description({ models: [] })),
    ];
    await withController({ workers: [known], dynamic: [dynamic], maxGpus: 2 }, async (run) => {
      const joined = addTo(run.fleet, dynamic);
      await run.pass(50);
      expect(joined.problem).toBe('model one, version 1: there is no model one');
      expect([joined.hasGpuNumbers, joined.hasJoined]).toEqual([true, false]);
      expect(run.said.filter((line) => line.startsWith('dynamic'))).toEqual([
        'dynamic is not used: is not accepted: model one, version 1: there is no model one',
      ]);
      dynamic.offers = [served('one'), served('two')];
      await dynamic.down();
      await dynamic.up();
      await run.pass(50);
      expect([joined.problem, joined.hasJoined, run.fleet.gpus.up.size]).toEqual(['', true, 2]);
      await dynamic.down();
      expect(joined.hasJoined).toBe(false);
    });
  });

  it('that does not fit has to go, and its room is free', async () => {
    const smaller = description({ gpus: [gpu({ pages: 5 })] });
    const [known, dynamic] = [new FakeWorker('known'), new FakeWorker('dynamic', smaller)];
    await withController({ workers: [known], dynamic: [dynamic], maxGpus: 2 }, async (run) => {
      const refused = addTo(run.fleet, dynamic);
      await run.pass(1);
      expect(refused.problem).toContain('the weights cache of GPU 0 has 5 pages');
      expect([refused.phase, dynamic.closed, run.fleet.room]).toEqual(['waiting', true, 1]);
      expect(run.said.filter((line) => line.startsWith('dynamic'))).toEqual([]);
    });
  });

  it('that is a known worker under another address has to go', async () => {
    const described = description({ instance: 'the same' });
    const [known, dynamic] = [new FakeWorker('known', described, false), new FakeWorker('alias', described)];
    const other = new FakeWorker('other');
    await withController(
      { workers: [other, known], dynamic: [dynamic], maxGpus: 3, minWorkers: 1 },
      async (run) => {
        const joined = addTo(run.fleet, dynamic);
        await run.pass(1);
        expect([joined.hasJoined, run.fleet.staticWorker('alias', 'the same')]).toEqual([true, null]);
        await known.up();
        await run.pass(1);
        expect([joined.hasLeft, dynamic.closed, run.fleet.gpus.up.size]).toEqual([true, true, 2]);
        expect(joined.problem).toBe('it is worker known, which is known from the start');
        for (const name of ['known', 'alias'])
          expect(run.fleet.staticWorker(name, 'the same')).toMatchObject({ hasJoined: true, problem: '' });
      },
    );
  });
});

describe('a cluster without known workers', () => {
  it('is made of the dynamic workers that go together, and the others join when there is one', async () => {
    const [first, other, second] = [
      new FakeWorker('a', two()),
      new FakeWorker('b', description({ pageBytes: 1 })),
      new FakeWorker('c', description({ gpus: [gpu({ pages: 4 })] })),
    ];
    await withController(
      { workers: [], dynamic: [first, other, second], early: true, maxGpus: 4, minWorkers: 3 },
      async (run) => {
        await run.pass(1);
        expect(run.controller.core.cluster.pages.map(({ capacity }) => capacity)).toEqual([4, 4, 4, 4]);
        const unused = 'of 6 pages of its weights cache 4 are used, as many as the smallest had at the start';
        expect(run.said.filter((line) => line.includes('is used:'))).toEqual([
          `a is used: is up, so these GPUs are in service: 0, 1; ${unused}`,
          'c is used: is up, so these GPUs are in service: 2',
        ]);
        expect(run.fleet.links.map(({ name }) => name)).toEqual(['a', 'c']);
        expect([run.fleet.gpus.up.size, run.fleet.room, other.closed]).toEqual([3, 1, true]);
        await first.down();
        await servesOn(second, run);
      },
    );
  });
});
