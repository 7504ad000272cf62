import { describe, expect, it } from 'vitest';
import { STATUS_INFER_TOO_LATE } from '../../../src/core/action.js';
import { AUTO } from '../../../src/policies/entry.js';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Two models, warm on every GPU: LOAD 8 ms, INFER 3, 5 and 8 ms at batch 1, 2 and 4. SLO 100 ms. */
function escapement(over: Partial<HarnessOptions> = {}, warm: readonly number[] = [0, 1]): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'escapement',
    models: models(2),
    ...over,
    options: { scheduleAhead: AUTO, fairness: 0.55, maxBatch: 8, ...over.options },
  });
  for (let gpu = 0; gpu < (over.gpus ?? 1); gpu++) harness.controller.gpuUp(gpu, warm);
  return harness;
}

describe('escapement: INFER', () => {
  it('goes at once where a lane is free, and makes the largest batch of what waits when it is', () => {
    const harness = escapement();
    expect(harness.arrive(0, [0])).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.arrive(1, [0, 0, 0, 0, 1])).toEqual([]);
    expect(harness.end(3)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.end(11)).toEqual(['INFER model 1 batch 1 on GPU 0']);
    harness.end(14);
    expect(harness.answers).toHaveLength(6);
    expect(harness.answers.every((answer) => answer.includes(' ok '))).toBe(true);
  });

  it('serves the urgent of a model before those that came earlier', () => {
    const harness = escapement();
    harness.arrive(0, [1]);
    harness.arrive(1, [0], 100);
    harness.arrive(1, [0], 6);
    // Two would end at 8, after the deadline of the second, which is 7.
    expect(harness.end(3)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.end(6)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    harness.end(9);
    expect(harness.answers).toEqual([
      expect.stringMatching(/^request 0 ok/),
      'request 2 ok at 6',
      'request 1 ok at 9',
    ]);
  });

  it('is not sent again in the very instant in which the GPU refused it', () => {
    const harness = escapement();
    harness.arrive(0, [0], 20);
    expect(harness.end(0, 'INFER', STATUS_INFER_TOO_LATE)).toEqual([]);
    expect(harness.controller.nextWakeNs(0)).toBe(1 * MS);
    expect(harness.step(1)).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });
});

describe('escapement: refusal', () => {
  it('is at once where the model would have to be loaded first, and that takes too long', () => {
    const harness = escapement({}, [0]);
    // It is loaded for those that will come, though.
    expect(harness.arrive(0, [1], 10.9)).toEqual(['LOAD model 1 on GPU 0']);
    expect(harness.answers).toEqual(['request 0 rejected at 0']);
    const other = escapement({}, [0]);
    expect(other.arrive(0, [1], 11)).toEqual(['LOAD model 1 on GPU 0']);
    expect(other.end(8)).toEqual(['INFER model 1 batch 1 on GPU 0']);
    other.end(11);
    expect(other.answers).toEqual(['request 0 ok at 11']);
  });

  it('never comes late: what was let in and then found no room is a timeout, when it is too late', () => {
    const harness = escapement();
    harness.arrive(0, [0]);
    harness.arrive(1, [0, 0, 0, 0], 12);
    harness.arrive(1, [1], 9);
    expect(harness.end(3)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.controller.nextWakeNs(3 * MS) / MS).toBeCloseTo(7, 5);
    harness.step(7.000001);
    expect(harness.answers.at(-1)).toBe('request 5 timeout at 7.000001');
  });
});

describe('escapement: placement', () => {
  it('evicts what is worth least for its pages', () => {
    const harness = escapement({ models: models(3), pages: 4 }, [0, 1]);
    for (let ms = 0; ms < 1000; ms += 10) {
      harness.arrive(ms, ms % 100 === 0 ? [0, 1] : [0]);
      harness.settle(ms, ms + 9);
    }
    const before = harness.controller.cluster.warm;
    expect([before.has(0, 0), before.has(1, 0)]).toEqual([true, true]);
    expect(harness.arrive(1000, Array<number>(20).fill(2))).toEqual([
      'UNLOAD model 1 on GPU 0',
      'LOAD model 2 on GPU 0',
    ]);
  });

  it('brings models back before anyone asks for them again', () => {
    const harness = escapement({ models: models(3) }, [0, 1, 2]);
    harness.arrive(0, [0, 1, 1]);
    harness.settle(0, 50);
    harness.lose(0, 60);
    harness.step(60);
    harness.controller.gpuUp(0, []);
    expect(harness.step(1000)).toEqual(['LOAD model 1 on GPU 0']);
    harness.end(1008);
    expect(harness.step(1100)).toEqual(['LOAD model 0 on GPU 0']);
    harness.end(1108);
    // The third was never requested.
    expect(harness.step(1300)).toEqual([]);
  });
});

describe('escapement: GPUs that share one lane', () => {
  it('foresees an INFER behind a LOAD', () => {
    const harness = escapement(
      { oneLane: true, models: models(3), options: { scheduleAhead: 20 * MS } },
      [0],
    );
    expect(harness.arrive(0, [1])).toEqual(['LOAD model 1 on GPU 0']);
    harness.arrive(1, [0], 9);
    expect(harness.answers).toEqual(['request 1 rejected at 1']);
    expect(harness.arrive(1, [0], 10)).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });
});
