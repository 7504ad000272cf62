import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** Models of 2 pages with INFERs of 3, 5 and 8 ms at batch 1, 2 and 4; three of them are warm on every GPU. */
function edf(cluster: Partial<HarnessOptions> = {}, options: Record<string, number> = {}): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'edf',
    options: { maxBatch: 8, margin: 0, ...options },
    models: models(5),
    pages: 6,
    ...cluster,
  });
  for (let gpu = 0; gpu < (cluster.gpus ?? 1); gpu++) harness.controller.gpuUp(gpu, [0, 1, 2]);
  harness.step(0);
  return harness;
}

/** GPU 0 runs one request of model 0 from 0 to 3 ms. */
function busy(cluster: Partial<HarnessOptions> = {}, options: Record<string, number> = {}): PolicyHarness {
  const harness = edf(cluster, options);
  expect(harness.arrive(0, [0])).toEqual(['INFER model 0 batch 1 on GPU 0']);
  return harness;
}

describe('edf: order', () => {
  it('a GPU that becomes free takes the model with the earliest deadline, whatever came first', () => {
    const harness = busy();
    harness.arrive(1, [1], 40);
    harness.arrive(2, [2], 20);
    expect(harness.end(3)).toEqual(['INFER model 2 batch 1 on GPU 0']);
    expect(harness.end(6)).toEqual(['INFER model 1 batch 1 on GPU 0']);
  });
});

describe('edf: batches', () => {
  it('are the largest that end by the earliest deadline, and that moment is early enough', () => {
    for (const [sloMs, batch] of [
      [10, 4],
      [9.999, 2],
      [7, 2],
      [6.999, 1],
    ]) {
      const harness = busy();
      harness.arrive(1, [1], sloMs);
      harness.arrive(1, [1, 1, 1], 100);
      expect(harness.end(3)).toEqual([`INFER model 1 batch ${batch} on GPU 0`]);
    }
  });

  it('under overload shrink: the next deadline leaves no time for more', () => {
    const harness = busy({ sloNs: 10 * MS });
    harness.arrive(1, [1, 1, 1, 1]);
    harness.arrive(1, [2, 2, 2, 2]);
    expect(harness.end(3)).toEqual(['INFER model 1 batch 4 on GPU 0']);
    // Only at 8 ms or before could one of model 2 have met 11 ms.
    expect(harness.step(8.001)).toEqual([]);
    expect(harness.answers.filter((answer) => answer.includes('timeout'))).toHaveLength(4);
  });
});

describe('edf: what can not be met', () => {
  it('times out as soon as not even a batch of one could end in time', () => {
    const harness = busy();
    harness.arrive(0, [1], 10);
    harness.step(7);
    expect(harness.answers).toEqual([]);
    expect(harness.controller.nextWakeNs(7 * MS)).toBe(7 * MS + 1);
    harness.step(7 + 1e-6);
    expect(harness.answers).toEqual(['request 1 timeout at 7.000001']);
  });

  it('is left to others by a GPU whose clock has become too low, which then serves what came later', () => {
    const harness = busy({ gpus: 2 });
    harness.arrive(0, [0]);
    // GPU 1 turns out to run at half its clock: an INFER of one takes 6 ms there.
    harness.outstanding[1].expectedDurationNs *= 2;
    Object.assign(harness.outstanding[1], { status: 0, beginNs: 0, endNs: 6 * MS, clock: 0.5 });
    harness.controller.result(harness.outstanding.splice(1, 1)[0]);
    harness.offer(6, [1], 5);
    expect(harness.step(6)).toEqual([]);
    expect(harness.arrive(6, [1], 50)).toEqual(['INFER model 1 batch 1 on GPU 1']);
    expect(harness.end(6.5, 'GPU 0')).toEqual(['INFER model 1 batch 1 on GPU 0']);
  });
});

describe('edf: weights', () => {
  it('come on demand, and a model that no request waits for makes room', () => {
    const harness = busy();
    harness.arrive(1, [1]);
    expect(harness.arrive(2, [3])).toEqual(['UNLOAD model 2 on GPU 0', 'LOAD model 3 on GPU 0']);
    expect(harness.end(3, 'INFER')).toEqual(['INFER model 1 batch 1 on GPU 0']);
    harness.end(10, 'LOAD model 3');
    expect(harness.end(11, 'INFER')).toEqual(['INFER model 3 batch 1 on GPU 0']);
  });
});
