import { describe, expect, it } from 'vitest';
import { STATUS_INFER_TOO_LATE, STATUS_WEIGHTS_MISSING } from '../../../src/core/action.js';
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

  it('leaves what it can no longer serve, and goes on with the next', () => {
    const harness = escapement();
    harness.arrive(0, [0, 0, 0, 0]);
    harness.arrive(0, [1, 1], 11);
    // Result and timeout come together: at 8 one of the two can just be served.
    expect(harness.end(8)).toEqual(['INFER model 1 batch 1 on GPU 0']);
    harness.step(9);
    expect(harness.answers.at(-1)).toBe('request 5 timeout at 9');
  });

  it('gets another chance if it missed its window, as long as it can be in time', () => {
    const harness = escapement();
    harness.arrive(0, [0], 20);
    expect(harness.end(10, 'INFER', STATUS_INFER_TOO_LATE)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.end(11, 'INFER', STATUS_WEIGHTS_MISSING)).toEqual(['INFER model 0 batch 1 on GPU 0']);
    expect(harness.end(18, 'INFER', STATUS_INFER_TOO_LATE)).toEqual([]);
    expect(harness.answers).toEqual(['request 0 timeout at 18']);
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
  it('is at once where no INFER is short enough', () => {
    const harness = escapement();
    harness.arrive(0, [0], 2.9);
    expect(harness.answers).toEqual(['request 0 rejected at 0']);
    expect(harness.arrive(0, [0], 3)).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });

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
  it('loads first what more requests wait for', () => {
    const harness = escapement({}, []);
    expect(harness.arrive(0, [0, 1, 1])).toEqual(['LOAD model 1 on GPU 0']);
    expect(harness.end(8, 'LOAD')).toEqual(['LOAD model 0 on GPU 0', 'INFER model 1 batch 2 on GPU 0']);
  });

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

  it('lets models of equal demand take turns where there is room for one, and no oftener than serves all', () => {
    const harness = escapement({ pages: 2, options: { fairness: 0 } }, []);
    // A request each 5 ms, an SLO of 100 ms, a LOAD of 8 ms.
    expect(swapsOf(harness, 0, 3000)).toBeLessThan(150);
    expect(harness.answers.filter((answer) => !answer.includes(' ok '))).toEqual([]);
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

/** Two models are asked for in turn, a request every 5 ms. Returns how often the one that the GPU holds changed. */
function swapsOf(harness: PolicyHarness, fromMs: number, toMs: number): number {
  const { held } = harness.controller.cluster;
  let swaps = 0;
  let before = held.has(1, 0);
  for (let ms = fromMs; ms < toMs; ms++) {
    if (ms % 5 === 0) harness.arrive(ms, [(ms / 5) % 2]);
    harness.settle(ms, ms);
    if (held.has(1, 0) !== before) swaps++;
    before = held.has(1, 0);
  }
  return swaps;
}
