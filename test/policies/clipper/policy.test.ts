import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

const ALL = [0, 1, 2];

/** A GPU that holds three models; INFER takes 3, 5 and 8 ms at batch 1, 2 and 4. */
function clipper(given: Partial<HarnessOptions> = {}, options: Record<string, number> = {}): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'clipper',
    options: { maxBatch: 8, increase: 2, maxDelay: 0, ...options },
    models: models(3),
    ...given,
  });
  harness.controller.gpuUp(0, ALL);
  return harness;
}

describe('clipper: batches', () => {
  it('the tightest SLO of a batch counts', () => {
    const harness = clipper({}, { increase: 4 });
    harness.offer(0, [0, 0, 0], 100);
    harness.arrive(0, [0, 0, 0], 7);
    harness.end(8);
    expect(harness.outstanding[0].count).toBe(2);
    harness.arrive(9, [0, 0, 0, 0]);
    harness.end(13);
    expect(harness.outstanding[0].count).toBe(3);
  });

  it('delayed batching waits for a full batch, or until its oldest request has waited long enough', () => {
    const harness = clipper({}, { increase: 4, maxDelay: 5 * MS });
    expect(harness.arrive(0, [0, 0])).toEqual([]);
    expect(harness.arrive(1, [1, 1, 1, 1])).toEqual(['INFER model 1 batch 4 on GPU 0']);
    expect(harness.controller.nextWakeNs(1 * MS)).toBe(5 * MS);
    expect(harness.end(4)).toEqual([]);
    expect(harness.step(5)).toEqual(['INFER model 0 batch 2 on GPU 0']);
    expect(harness.controller.nextWakeNs(5 * MS)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('clipper: sharing', () => {
  it('models take turns on a GPU, a batch each', () => {
    const harness = clipper();
    harness.arrive(0, [1, 1, 1, 1]);
    harness.arrive(1, [0, 2, 2, 2]);
    const order = [5, 10, 13, 18].map((nowMs) => harness.end(nowMs)[0]);
    expect(order).toEqual([
      'INFER model 2 batch 2 on GPU 0',
      'INFER model 0 batch 1 on GPU 0',
      'INFER model 1 batch 2 on GPU 0',
      'INFER model 2 batch 1 on GPU 0',
    ]);
  });

  it('a model that is nowhere is loaded, and one whose GPUs are all busy gets another copy', () => {
    const harness = clipper({ gpus: 2, models: models(4) });
    expect(harness.arrive(0, [3])).toEqual(['LOAD model 3 on GPU 1']);
    harness.settle(1, 20);
    harness.arrive(21, [0, 0]);
    expect(harness.arrive(22, [0])).toEqual(['LOAD model 0 on GPU 1']);
  });
});
