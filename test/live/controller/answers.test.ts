import { describe, expect, it } from 'vitest';
import { INFER, STATUS_DEVICE_ERROR, STATUS_INFER_TOO_LATE } from '../../../src/core/action.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../../src/core/request.js';
import { wirePipeline } from '../../../src/live/pipeline.js';
import { POLICIES } from '../../../src/policies/registry.js';
import { MS } from '../../sim/fixtures.js';
import { compute, FakeWorker } from './fake-worker.js';
import { type Asked, withController } from './harness.js';

/** What the request should get for its own inputs. */
const own = ({ inputs }: Asked) => compute(inputs, 1);
const got = ({ answers }: Asked) => answers[0].outputs.map((output) => new Uint8Array(output));

describe.each(['clockwork', 'fifo'])('%s', (policy) => {
  it('gives each request of a batch its own rows of every output', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      // Batches of every size, full and filled up, and both models.
      for (const count of [1, 2, 3, 4, 7]) {
        for (let i = 0; i < count; i++) run.ask(i % 5 === 4 ? 1 : 0);
        await run.pass(60);
      }
      expect(run.outcomes).toEqual(run.asked.map(() => 'ok'));
      for (const asked of run.asked) expect(got(asked)).toEqual(own(asked));
      const sizes = new Set(run.asked.map(({ answers }) => answers[0].batchSize));
      expect([...sizes].sort()).toEqual([1, 2, 4]);
      expect(worker.kinds(INFER).some(({ batchIndex, count }) => count < 2 ** batchIndex)).toBe(
        policy === 'fifo',
      );
    });
  });

  it('answers error with what the device said of an INFER, and only that batch', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      run.ask();
      await run.pass(50);
      worker.executing = false;
      run.ask();
      await run.pass(10);
      worker.answer(worker.sent.at(-1) as never, {
        status: STATUS_DEVICE_ERROR,
        outputs: [],
        error: 'no memory',
      });
      worker.executing = true;
      run.ask();
      await run.pass(50);
      expect(run.outcomes).toEqual(['ok', 'error', 'ok']);
      expect(run.asked[1].answers[0]).toMatchObject({ error: 'no memory', outputs: [], batchSize: 0 });
      expect(run.said).toContain('GPU 0 failed at one: no memory');
    });
  });

  it('learns nothing from a batch that ran again because of its inputs', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      run.ask();
      await run.pass(50);
      for (let i = 0; i < 10; i++) {
        worker.executing = false;
        run.ask(0, 1000);
        await run.pass(400);
        const beginNs = run.controller.nowNs() - 390 * MS;
        worker.answer(worker.sent.at(-1) as never, { beginNs, inputErrors: ['out of range'] });
        worker.executing = true;
        await run.pass(1);
      }
      const asked = run.ask(0, 50);
      await run.pass(60);
      expect(asked.answers[0]).toMatchObject({ outcome: OUTCOME_OK });
    });
  });

  it('answers late with outputs, and says nothing of a prediction', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      run.ask();
      await run.pass(50);
      worker.executing = false;
      const asked = run.ask();
      await run.pass(150);
      worker.answer(worker.sent.at(-1) as never);
      await run.pass(1);
      expect(asked.answers[0]).toMatchObject({ outcome: OUTCOME_LATE, predictedNs: 0, batchSize: 1 });
      expect(got(asked)).toEqual(own(asked));
    });
  });
});

it('tells the predicted latency of what it refuses, and of nothing else', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], admission: 'predict' }, async (run) => {
    const served = run.ask(0, 100);
    await run.pass(50);
    // The model takes 3 ms.
    const refused = run.ask(0, 2);
    await run.pass(1);
    expect(refused.answers[0]).toMatchObject({ outcome: OUTCOME_REJECTED, batchSize: 0, error: '' });
    expect(refused.answers[0].predictedNs).toBeGreaterThan(3_000_000);
    expect(served.answers[0]).toMatchObject({ outcome: OUTCOME_OK, predictedNs: 0 });
    worker.executing = false;
    const failed = run.ask(0, 100);
    await run.pass(5);
    worker.answer(worker.sent.at(-1) as never, {
      status: STATUS_DEVICE_ERROR,
      outputs: [],
      error: 'too hot',
    });
    await run.pass(1);
    expect(failed.answers[0]).toMatchObject({ outcome: OUTCOME_ERROR, predictedNs: 0, error: 'too hot' });
  });
});

// symphony sends a batch when there is just time for it: what misses then has no time left.
const PROMPT = POLICIES.map(({ kind }) => kind).filter((kind) => kind !== 'symphony');

describe.each(PROMPT)('%s', (policy) => {
  it('sends what has missed its window again, until it is in time or its SLO is over', async () => {
    const worker = new FakeWorker('w');
    await withController({ workers: [worker], policy }, async (run) => {
      run.ask(0, 150);
      await run.pass(200);
      expect(run.outcomes).toEqual(['ok']);
      worker.executing = false;
      const missNext = async (before: number) => {
        for (let i = 0; i < 40 && worker.kinds(INFER).length === before; i++) await run.pass(10);
        expect(worker.kinds(INFER)).toHaveLength(before + 1);
        // Time passes between what is sent and what comes back.
        await run.pass(1);
        worker.answer(worker.kinds(INFER)[before], { status: STATUS_INFER_TOO_LATE, outputs: [] });
      };
      run.ask(0, 300);
      await missNext(1);
      await missNext(2);
      await run.pass(5);
      worker.answer(worker.kinds(INFER)[3]);
      await run.pass(1);
      expect(run.outcomes).toEqual(['ok', 'ok']);
      run.ask(0, 50);
      for (let i = 0; i < 5 && worker.kinds(INFER).length === 4; i++) await run.pass(10);
      await run.pass(80);
      worker.answer(worker.kinds(INFER)[4], { status: STATUS_INFER_TOO_LATE, outputs: [] });
      await run.pass(20);
      expect(run.outcomes.at(-1)).toBe('timeout');
      expect(worker.kinds(INFER)).toHaveLength(5);
    });
  });
});

it('takes what happens in one turn of the event loop as one instant', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], policy: 'fifo' }, async (run) => {
    run.ask();
    await run.pass(50);
    for (let i = 0; i < 4; i++) run.ask();
    await run.pass(0);
    expect(worker.kinds(INFER).map(({ count }) => count)).toEqual([1, 4]);
    await run.pass(50);
  });
});

it('a request that is given up says how long it waited, and what was expected', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], admission: 'predict' }, async (run) => {
    worker.executing = false;
    const asked = run.ask(0, 80, 10);
    await run.pass(200);
    const [{ outcome, predictedNs, passedNs }] = asked.answers;
    expect(outcome).toBe(OUTCOME_TIMEOUT);
    // What was expected when it was accepted: the 10 ms before, the LOAD and the INFER.
    expect(predictedNs).toBeGreaterThan(10 * MS);
    expect(predictedNs).toBeLessThan(80 * MS);
    expect(passedNs).toBeGreaterThan(70 * MS);
  });
});

it('the request of a pipeline names the step that was not executed in time', async () => {
  const worker = new FakeWorker('w');
  await withController({ workers: [worker], admission: 'predict' }, async (run) => {
    const step = (id: string, modelName: string, after: number[]) => ({
      ...{ id, modelName, modelNames: [modelName], version: null, inputs: {}, each: [], after },
      ...{ isOne: true, least: 1, mean: 1, budget: 1 },
    });
    const names = ['0', '1'];
    const chain = { name: 'chain', sloNs: null, split: 'equal', outputs: null } as const;
    const steps = [step('a', '0', []), step('b', '1', [0])];
    const find = (name: string) => ({
      index: names.indexOf(name),
      model: run.controller.modelAt(names.indexOf(name))!,
    });
    const pipeline = run.controller.putPipeline(0, wirePipeline({ ...chain, steps }, find));
    worker.executing = false;
    const asked = run.ask(pipeline, 80);
    await run.pass(200);
    const [{ outcome, error }] = asked.answers;
    expect(outcome).toBe(OUTCOME_TIMEOUT);
    expect(error).toMatch(/^step a waited \S+ ms$/);
  });
});
