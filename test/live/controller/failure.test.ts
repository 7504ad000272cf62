import { describe, expect, it } from 'vitest';
import { INFER, LOAD, UNLOAD } from '../../../src/core/action.js';
import { POLICIES as REGISTERED } from '../../../src/policies/registry.js';
import { description, FakeWorker, gpu, served } from './fake-worker.js';
import { type LiveHarness, withController } from './harness.js';

const POLICIES = ['clockwork', 'fifo'];

/** Gets model 0 onto every worker's GPU, so that either can serve it. */
async function warmUp(run: LiveHarness, workers: readonly FakeWorker[]): Promise<void> {
  for (const worker of workers) {
    await worker.down('is warmed up');
    await worker.up(worker.described.gpus.map(() => [0]));
  }
  await run.pass(10);
}

describe.each(POLICIES)('%s, when a worker goes down in the middle of an INFER', (policy) => {
  it('lets another worker run it', async () => {
    const [a, b] = [new FakeWorker('a'), new FakeWorker('b')];
    await withController({ workers: [a, b], policy }, async (run) => {
      await warmUp(run, [a, b]);
      a.executing = false;
      b.executing = false;
      const asked = run.ask();
      await run.pass(10);
      const [busy, idle] = a.kinds(INFER).length > 0 ? [a, b] : [b, a];
      const [infer] = busy.kinds(INFER);
      expect(idle.kinds(INFER)).toEqual([]);
      idle.executing = true;
      await busy.down();
      await run.pass(30);
      expect(run.outcomes).toEqual(['ok']);
      // What the lost worker still says of it comes too late to count.
      await busy.up();
      busy.answer(infer);
      await run.pass(10);
      expect(asked.answers).toHaveLength(1);
    });
  });

  it.each([
    ['with its weights', [0], 0],
    ['without weights', [], 1],
  ])('runs it on the same worker when that is back %s', async (_, present, loads) => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      await warmUp(run, [worker]);
      worker.executing = false;
      run.ask();
      await run.pass(10);
      expect(worker.kinds(INFER)).toHaveLength(1);
      await worker.down();
      await run.pass(10);
      expect(run.controller.state.notReady).toBe('no worker is up');
      worker.executing = true;
      await worker.up([present]);
      await run.pass(30);
      expect(run.controller.state.notReady).toBeNull();
      expect(run.outcomes).toEqual(['ok']);
      expect(worker.kinds(LOAD)).toHaveLength(loads);
    });
  });

  it('loses one GPU of a worker and goes on with the other', async () => {
    const worker = new FakeWorker('w', description({ gpus: [gpu(), gpu()] }));
    await withController({ workers: [worker], policy }, async (run) => {
      await warmUp(run, [worker]);
      await worker.down('its thread has died', 0);
      for (let i = 0; i < 4; i++) run.ask();
      await run.pass(50);
      expect(run.outcomes).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(worker.kinds(INFER).map(({ gpu }) => gpu)).not.toContain(0);
      expect(run.controller.state.notReady).toBeNull();
      expect(run.said).toContain('GPU 0 down: its thread has died');
    });
  });
});

describe.each(POLICIES)('%s, while no GPU is there', (policy) => {
  it('answers whatever waits, and whatever comes, when its SLO has passed', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy, sloMs: 50 }, async (run) => {
      worker.executing = false;
      for (let i = 0; i < 6; i++) run.ask(i % 2);
      await run.pass(10);
      await worker.down();
      await run.pass(20);
      run.ask();
      // Requests of other SLOs, so that those in the middle of a queue go first.
      run.ask(0, 20);
      run.ask(0, 400);
      await run.pass(100);
      expect(run.outcomes).toEqual([...Array.from({ length: 8 }, () => 'timeout'), '-']);
      await run.pass(300);
      expect(run.outcomes.at(-1)).toBe('timeout');
      expect(run.asked.at(-1)?.answers[0].error).toBe('no worker is up');
      expect(run.controller.core.requests.size).toBe(0);
      worker.executing = true;
      await worker.up();
      run.ask();
      await run.pass(30);
      expect(run.outcomes.at(-1)).toBe('ok');
    });
  });

  it('keeps what can wait for a GPU to come back', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy, sloMs: 500 }, async (run) => {
      await worker.down();
      for (let i = 0; i < 5; i++) run.ask(0, i % 2 === 0 ? 500 : 20);
      await run.pass(100);
      await worker.up();
      await run.pass(100);
      expect(run.outcomes).toEqual(['ok', 'timeout', 'ok', 'timeout', 'ok']);
    });
  });
});

it('fifo gives nothing up when GPUs are there again', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], policy: 'fifo', sloMs: 20 }, async (run) => {
    await worker.down();
    run.ask();
    await run.pass(10);
    worker.executing = false;
    await worker.up();
    for (let i = 0; i < 5; i++) run.ask();
    await run.pass(100);
    expect(run.outcomes).toEqual(run.asked.map(() => '-'));
    worker.executing = true;
    worker.answer(worker.sent[0]);
    await run.pass(100);
    expect(run.outcomes).toEqual(run.asked.map(() => 'late'));
  });
});

it('does not blame the SLO of a request that is refused because no worker is up', async () => {
  const worker = new FakeWorker('a');
  await withController({ workers: [worker], admission: 'predict' }, async (run) => {
    await worker.down();
    const asked = run.ask();
    await run.pass(1);
    expect(run.outcomes).toEqual(['rejected']);
    expect(asked.answers[0].error).toBe('no worker is up');
  });
});

it('does not run one model in batches of one with what timed out while no GPU was connected', async () => {
  const models = [served('single', { spec: { ...served().spec, batchSizes: [1], execNs: [3_000_000] } })];
  const worker = new FakeWorker('w', description({ models }));
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    await worker.down();
    run.ask(0, 500);
    run.ask(0, 10);
    await run.pass(50);
    await worker.up();
    await run.pass(50);
    expect(run.outcomes).toEqual(['ok', 'timeout']);
  });
});

it.each(REGISTERED.map(({ kind }) => kind))(
  '%s: requests of a model that no device can load get an answer, others are served',
  async (policy) => {
    const worker = new FakeWorker('w');
    worker.broken = [0];
    await withController({ workers: [worker], policy }, async (run) => {
      run.ask(0);
      run.ask(0);
      run.ask(1);
      await run.pass(200);
      expect(run.outcomes).toEqual(['error', 'error', 'ok']);
      expect(run.asked[0].answers[0].error).toBe('the file is corrupt');
      expect(run.said).toContain('GPU 0 failed at one: the file is corrupt');
      const loads = () => worker.kinds(LOAD).filter(({ model }) => model === 0).length;
      expect(loads()).toBe(1);
      // Meanwhile requests hear the reason at once, and the device is left alone.
      const given = run.ask(0);
      await run.pass(1);
      expect(given.answers[0].error).toBe('the file is corrupt');
      await run.pass(700);
      expect(loads()).toBe(1);
      await run.pass(400);
      run.ask(0);
      await run.pass(50);
      // A policy that foresees demand has tried again by itself.
      expect([run.outcomes.at(-1), loads()]).toEqual(['error', 2]);
      worker.broken = [];
      await run.pass(1500);
      run.ask(0);
      await run.pass(1);
      expect([run.outcomes.at(-1), loads()]).toEqual(['error', 2]);
      await run.pass(600);
      run.ask(0);
      await run.pass(150);
      expect([run.outcomes.at(-1), loads()]).toEqual(['ok', 3]);
    });
  },
);

it.each(POLICIES)('%s: a worker that owes a result beyond all reason is restarted', async (policy) => {
  const [a, b] = [new FakeWorker('a'), new FakeWorker('b')];
  await withController({ workers: [a, b], policy, sloMs: 60_000, hangNs: 2_000_000_000 }, async (run) => {
    await warmUp(run, [a, b]);
    a.executing = false;
    b.executing = false;
    run.ask();
    await run.pass(10);
    const [busy, idle] = a.kinds(INFER).length > 0 ? [a, b] : [b, a];
    idle.executing = true;
    await run.pass(1500);
    const said = run.said.length;
    await run.pass(2000);
    expect(run.outcomes).toEqual(['ok']);
    const gpu = busy === a ? 0 : 1;
    expect(run.said[said]).toBe(
      `${busy.name} is not used: is down, so these GPUs are out of service: ${gpu}: GPU 0 owes a result`,
    );
  });
});

it.each(POLICIES)(
  '%s: what waits for a result that does not come is answered at its deadline, once',
  async (policy) => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy, sloMs: 2_000 }, async (run) => {
      await warmUp(run, [worker]);
      worker.executing = false;
      const { answers } = run.ask();
      await run.pass(1_900);
      expect(run.outcomes).toEqual(['-']);
      await run.pass(300);
      expect(run.outcomes).toEqual(['timeout']);
      expect(answers[0].error).toBe('the result of its INFER did not arrive');
      // It was only slow.
      worker.executing = true;
      worker.answer(worker.kinds(INFER)[0]);
      await run.pass(10);
      run.ask();
      await run.pass(100);
      expect(run.outcomes).toEqual(['timeout', 'ok']);
      expect(run.controller.state.notReady).toBeNull();
      expect(run.seen).toEqual(['INFER', 'timeout', 'INFER', 'ok']);
    });
  },
);

it('does not take an UNLOAD for one that hangs', async () => {
  const models = ['one', 'two', 'three', 'four'].map((name) => served(name));
  const worker = new FakeWorker('w', description({ models }));
  await withController({ workers: [worker], hangNs: 1_000_000_000 }, async (run) => {
    await run.pass(5000);
    for (let i = 0; i < 3; i++) run.ask(i);
    await run.pass(80);
    worker.executing = false;
    run.ask(3);
    await run.pass(150);
    expect(worker.kinds(UNLOAD)).toHaveLength(1);
    expect(run.controller.state.notReady).toBeNull();
    for (const action of worker.sent.slice(-2)) worker.answer(action);
    await run.pass(10);
  });
});

describe('closing', () => {
  it('answers error what is not done when draining has taken long enough, and what comes afterwards', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
      worker.executing = false;
      run.ask(0);
      await run.pass(20);
      const draining = run.controller.drain(200_000_000);
      await run.pass(300);
      await draining;
      expect(run.outcomes).toEqual(['-']);
      // Not even looked at yet.
      run.ask(1);
      await run.controller.close();
      expect(run.outcomes).toEqual(['error', 'error']);
      const late = run.ask();
      await run.pass(100);
      expect(late.answers[0].error).toBe('the server is shutting down');
      worker.answer(worker.sent[0]);
      await run.pass(10);
    });
  });

  it('takes no more steps, although models still change', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
      await run.pass(20);
      run.ask(0);
      const closed = run.controller.close();
      void run.controller.retireModel(1).catch(() => {});
      await run.pass(10);
      await closed;
      expect(worker.sent).toEqual([]);
    });
  });
});
