import { describe, expect, it } from 'vitest';
import { STATUS_LOAD_TOO_LATE } from '../../../src/core/action.js';
import { models } from '../../core/fixtures.js';
import { type HarnessOptions, MS, PolicyHarness } from '../policy-harness.js';

/** One GPU for three of five models of 2 pages, unless given. LOAD takes 8 ms, INFER of one request 3 ms. */
function clockwork(aheadMs = 10, cluster: Partial<HarnessOptions> = {}): PolicyHarness {
  return new PolicyHarness({
    policy: 'clockwork',
    options: { scheduleAhead: aheadMs * MS, maxBatch: 8, maxExec: 250 * MS },
    models: models(5),
    pages: 6,
    ...cluster,
  });
}

/** Models were loaded and served one after another, 20 ms each. */
function served(harness: PolicyHarness, order: readonly number[], fromMs = 0): PolicyHarness {
  for (const [i, model] of order.entries()) {
    harness.arrive(fromMs + i * 20, [model]);
    for (const after of [8, 12]) if (harness.outstanding.length > 0) harness.end(fromMs + i * 20 + after);
  }
  expect(harness.outstanding).toEqual([]);
  return harness;
}

describe('clockwork LOAD', () => {
  it('the model with the most demand is loaded first', () => {
    const harness = clockwork(5);
    expect(harness.arrive(0, [0, 1, 1, 2])).toEqual(['LOAD model 1 on GPU 0']);
  });

  it('WEIGHTS is booked until it is schedule_ahead into the future', () => {
    expect(clockwork(10).arrive(0, [0, 0, 1, 2])).toHaveLength(2);
    expect(clockwork(8).arrive(0, [0, 0, 1, 2])).toHaveLength(1);
  });

  it('equal demand goes to the model used more recently, which at first is the last one', () => {
    const harness = clockwork(5);
    expect(harness.arrive(0, [0, 3, 1])).toEqual(['LOAD model 3 on GPU 0']);
  });

  it('each GPU loads what it lacks: a model with demand is replicated wherever a lane is free', () => {
    const harness = clockwork(5, { gpus: 3 });
    expect(harness.arrive(0, [2])).toEqual([
      'LOAD model 2 on GPU 0',
      'LOAD model 2 on GPU 1',
      'LOAD model 2 on GPU 2',
    ]);
  });

  it('GPUs take turns, one LOAD each, and each knows what the ones before it took', () => {
    const harness = clockwork(10, { gpus: 2 });
    expect(harness.arrive(0, [0, 0, 1])).toEqual([
      'LOAD model 0 on GPU 0',
      'LOAD model 1 on GPU 1',
      'LOAD model 1 on GPU 0',
      'LOAD model 0 on GPU 1',
    ]);
  });

  it('a model without demand is not loaded: what timed out asks for nothing', () => {
    // Due 7 ms after arrival; the lane is taken by the other model until 8 ms.
    const harness = clockwork(2, { sloNs: 10 * MS });
    harness.arrive(0, [0, 0, 1]);
    harness.step(7);
    expect(harness.end(8)).toEqual([]);
    expect(harness.answers).toHaveLength(3);
  });

  it('a LOAD that failed is sent again while its demand lasts', () => {
    const harness = clockwork();
    harness.arrive(0, [0]);
    expect(harness.end(12, 'LOAD', STATUS_LOAD_TOO_LATE)).toEqual(['LOAD model 0 on GPU 0']);
    expect(harness.end(20, 'LOAD')).toEqual(['INFER model 0 batch 1 on GPU 0']);
  });

  it('a LOAD that was refused in the very instant it was sent is sent again later, not for ever', () => {
    const harness = clockwork();
    harness.arrive(0, [0]);
    expect(harness.end(0, 'LOAD', STATUS_LOAD_TOO_LATE)).toEqual([]);
    expect(harness.step(0)).toEqual([]);
    expect(harness.step(0.001)).toEqual(['LOAD model 0 on GPU 0']);
  });

  it('a second LOAD of what is being loaded is not sent', () => {
    const harness = clockwork();
    harness.arrive(0, [0]);
    expect(harness.arrive(1, [0])).toEqual([]);
  });
});

describe('clockwork UNLOAD', () => {
  it('the least recently used model makes room', () => {
    const harness = served(clockwork(), [0, 1, 2, 0]);
    expect(harness.arrive(100, [3])).toEqual(['UNLOAD model 1 on GPU 0', 'LOAD model 3 on GPU 0']);
  });

  it('models without demand go first, however recently they were used', () => {
    const harness = served(clockwork(5), [0, 1, 2]);
    // Models 0 and 1 are the least recently used, and now have requests: one runs, one waits for the lane.
    harness.arrive(100, [0]);
    harness.arrive(100, [0, 1]);
    expect(harness.arrive(100, [3])).toEqual(['UNLOAD model 2 on GPU 0', 'LOAD model 3 on GPU 0']);
  });

  it('where all have demand, the least recently used goes', () => {
    const harness = served(clockwork(2), [2, 1, 0]);
    // One INFER is sent, of model 0, which renews it; of the others 2 was used longer ago.
    harness.arrive(100, [0, 0, 0, 0, 0, 1, 2]);
    expect(harness.arrive(101, [3])).toEqual(['UNLOAD model 2 on GPU 0', 'LOAD model 3 on GPU 0']);
  });

  it('as many go as the new model needs pages, and none if there is room', () => {
    const large = models(5).map((model, i) => (i === 4 ? { ...model, pages: 4 } : model));
    const harness = served(clockwork(10, { models: large }), [0, 1, 2]);
    expect(harness.arrive(100, [4])).toEqual([
      'UNLOAD model 0 on GPU 0',
      'UNLOAD model 1 on GPU 0',
      'LOAD model 4 on GPU 0',
    ]);
    expect(served(clockwork(), [0, 1]).arrive(100, [2])).toEqual(['LOAD model 2 on GPU 0']);
  });

  it('what is still being loaded is never evicted: a LOAD waits for it instead', () => {
    const harness = clockwork(50);
    expect(harness.arrive(0, [0, 1, 2, 3])).toHaveLength(3);
    expect(harness.end(8)).toContain('UNLOAD model 3 on GPU 0');
  });

  it('pages count as free when the UNLOAD is sent, not when it is answered', () => {
    const harness = served(clockwork(), [0, 1, 2]);
    harness.arrive(100, [3]);
    expect(harness.controller.cluster.pages[0].free).toBe(0);
    expect(harness.controller.cluster.held.has(0, 0)).toBe(false);
  });

  it('room that evictions made for a LOAD that then did not fit goes to another in the same instant', () => {
    const sizes = models(3).map((model, i) => ({ ...model, pages: i + 1 }));
    const harness = served(clockwork(20, { models: sizes, pages: 4 }), [0, 1]);
    // Model 2 takes the place of both. Model 1 is next, does not fit, and nothing is left to evict; model 0 fits.
    expect(harness.arrive(100, [0, 0, 1, 2])).toEqual([
      'UNLOAD model 0 on GPU 0',
      'UNLOAD model 1 on GPU 0',
      'LOAD model 2 on GPU 0',
      'LOAD model 0 on GPU 0',
    ]);
  });
});
