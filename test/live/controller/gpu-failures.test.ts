import { describe, expect, it } from 'vitest';
import { INFER } from '../../../src/core/action.js';
import { FakeWorker } from './fake-worker.js';
import { type LiveHarness, withController } from './harness.js';

const POLICIES = ['clockwork', 'fifo', 'shepherd'];
const ERROR = 'the worker returned 1 outputs, one has 2';
const GIVEN_UP = `its last 3 INFERs failed, and other GPUs run their models: ${ERROR}`;

/** A request every 2 ms, more than one GPU runs one by one: both get some. */
async function load(run: LiveHarness, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) {
    run.ask();
    await run.pass(2);
  }
  await run.pass(100);
}

function givenUp({ said }: LiveHarness): string[] {
  return said.filter((line) => /^GPU \d down: its last/.test(line));
}

describe.each(POLICIES)('%s, when a GPU fails at INFERs that another one runs', (policy) => {
  it('tries their requests again, and gives the GPU up once, with the reason', async () => {
    const [ill, well] = [new FakeWorker('ill'), new FakeWorker('well')];
    ill.failing = new Map([[0, ERROR]]);
    await withController({ workers: [ill, well], policy, sloMs: 200 }, async (run) => {
      for (const worker of [ill, well]) await worker.up([[0]]);
      await load(run, 100);
      expect(run.outcomes.filter((outcome) => outcome !== 'ok')).toEqual([]);
      expect(ill.kinds(INFER).length).toBeGreaterThanOrEqual(3);
      expect(run.said.filter((line) => line.includes('is not used: has lost'))).toEqual([
        `ill is not used: has lost its GPU 0, so these GPUs are out of service: 0: ${GIVEN_UP}`,
      ]);
      // It comes back, and is as before.
      await ill.up([[0]]);
      await load(run, 100);
      expect(run.outcomes.filter((outcome) => outcome !== 'ok')).toEqual([]);
      expect(givenUp(run)).toEqual([0, 0].map((gpu) => `GPU ${gpu} down: ${GIVEN_UP}`));
      ill.failing = new Map();
      await ill.up([[0]]);
      await load(run, 100);
      expect(run.outcomes.filter((outcome) => outcome !== 'ok')).toEqual([]);
      expect(givenUp(run)).toHaveLength(2);
    });
  });

  it('lets the GPU go on that fails now and then', async () => {
    const [ill, well] = [new FakeWorker('ill'), new FakeWorker('well')];
    await withController({ workers: [ill, well], policy, sloMs: 200 }, async (run) => {
      for (const worker of [ill, well]) await worker.up([[0]]);
      for (let i = 0; i < 10; i++) {
        await load(run, 20);
        ill.failing = new Map([[0, ERROR]]);
        while (!run.said.includes(`GPU 0 failed at one: ${ERROR}`)) {
          run.ask();
          await run.pass(2);
        }
        ill.failing = new Map();
        await load(run, 20);
      }
      expect(run.outcomes.filter((outcome) => outcome !== 'ok')).toEqual([]);
      expect(givenUp(run)).toEqual([]);
    });
  });
});

describe('a failure is not the fault of its GPU', () => {
  it('if there is no other', async () => {
    const worker = new FakeWorker('w');
    worker.failing = new Map([[0, ERROR]]);
    await withController({ workers: [worker], sloMs: 200 }, async (run) => {
      await worker.up([[0, 1]]);
      await load(run, 10);
      expect(new Set(run.outcomes)).toEqual(new Set(['error']));
      expect(run.asked[0].answers[0].error).toBe(ERROR);
      expect(givenUp(run)).toEqual([]);
      run.ask(1);
      await run.pass(50);
      expect(run.outcomes.at(-1)).toBe('ok');
    });
  });

  it('if others fail at the model, too', async () => {
    const workers = ['a', 'b', 'c'].map((name) => new FakeWorker(name));
    for (const worker of workers) worker.failing = new Map([[0, ERROR]]);
    await withController({ workers, sloMs: 200 }, async (run) => {
      for (const worker of workers) await worker.up([[0, 1]]);
      await load(run, 50);
      expect(new Set(run.outcomes)).toEqual(new Set(['error']));
      expect(run.asked[0].answers[0].error).toBe(ERROR);
      expect(givenUp(run)).toEqual([]);
    });
  });

  it('if its request has failed on another one', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => new FakeWorker(name));
    await withController({ workers: [a, b, c], policy: 'fifo', sloMs: 200 }, async (run) => {
      for (const worker of [a, b, c]) await worker.up([[0]]);
      await load(run, 50);
      // One request that no GPU can run, though all can run others.
      for (const worker of [a, b, c]) worker.failing = new Map([[0, ERROR]]);
      const { answers } = run.ask();
      await run.pass(150);
      expect(answers[0].error).toBe(ERROR);
      for (const worker of [a, b, c]) worker.failing = new Map();
      expect(givenUp(run)).toHaveLength(1);
    });
  });
});
