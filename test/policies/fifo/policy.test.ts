import { describe, expect, it } from 'vitest';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** One GPU for three of five models of 2 pages, batches of up to 4, and a wait of up to 5 ms for them to fill. */
function fifo(cluster: Partial<HarnessOptions> = {}, options: Record<string, number> = {}): PolicyHarness {
  return new PolicyHarness({
    policy: 'fifo',
    options: { maxBatch: 8, maxDelay: 5 * MS, ...options },
    models: models(5),
    pages: 6,
    ...cluster,
  });
}

/** The models were loaded on GPU 0 one after another, each served once. */
function served(harness: PolicyHarness, order: readonly number[]): PolicyHarness {
  for (const [i, model] of order.entries()) {
    harness.arrive(i * 20, [model]);
    harness.settle(i * 20 + 1, i * 20 + 19);
  }
  expect(harness.outstanding).toEqual([]);
  harness.answers.length = 0;
  return harness;
}

const LOADED = 20;

describe('fifo: batches', () => {
  it('a batch goes when its oldest request has waited for the maximum delay, in the smallest size that fits', () => {
    const harness = served(fifo(), [0]);
    harness.arrive(LOADED, [0]);
    harness.arrive(LOADED + 2, [0, 0]);
    expect(harness.controller.nextWakeNs(LOADED * MS)).toBe((LOADED + 5) * MS);
    expect(harness.step(LOADED + 4.999)).toEqual([]);
    expect(harness.step(LOADED + 5)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.outstanding[0].count).toBe(3);
  });

  it('a GPU runs one batch at a time, and then what has been due for longest', () => {
    const harness = served(fifo(), [0, 1, 2]);
    harness.arrive(60, [0, 0, 0, 0]);
    expect(harness.arrive(61, [2, 2, 2, 2])).toEqual([]);
    expect(harness.arrive(62, [1, 1, 1, 1])).toEqual([]);
    expect(harness.end(68)).toEqual(['INFER model 2 batch 4 on GPU 0']);
    expect(harness.end(76)).toEqual(['INFER model 1 batch 4 on GPU 0']);
  });

  it('a model with more than one full batch gets in line again behind the others', () => {
    const harness = served(fifo(), [0, 1]);
    harness.arrive(40, [0, 0, 0, 0, 0, 0, 0, 0]);
    harness.arrive(41, [1, 1, 1, 1]);
    expect(harness.end(48)).toEqual(['INFER model 0 batch 4 on GPU 0']);
    expect(harness.end(56)).toEqual(['INFER model 1 batch 4 on GPU 0']);
  });

  it('never wants to be woken for a time that has passed, however far behind it is', () => {
    const harness = served(fifo(), [0]);
    for (let nowMs = LOADED; nowMs < LOADED + 60; nowMs++) {
      harness.arrive(nowMs, [0, 0, 0]);
      expect(harness.controller.nextWakeNs(nowMs * MS)).toBeGreaterThan(nowMs * MS);
      if (nowMs % 8 === 0 && harness.outstanding.length > 0) harness.end(nowMs);
    }
  });
});

describe('fifo: SLOs', () => {
  it('knows none: nothing times out, and what is late is answered late', () => {
    const harness = fifo({ sloNs: 10 * MS });
    harness.arrive(0, [0]);
    harness.settle(1, 30);
    expect(harness.answers).toEqual(['request 0 late at 13']);
  });
});

describe('fifo: placement', () => {
  it('no copy is made at the cost of another model, nor while a GPU that has one is free', () => {
    const full = served(fifo({ gpus: 2, pages: 2 }), [0, 1]);
    full.arrive(40, [0, 0, 0, 0]);
    expect(full.arrive(41, [0, 0, 0, 0])).toEqual([]);
    const idle = served(fifo({ gpus: 2 }), [0]);
    expect(idle.arrive(20, [0, 0, 0, 0])).toEqual(['INFER model 0 batch 4 on GPU 0']);
  });
});
