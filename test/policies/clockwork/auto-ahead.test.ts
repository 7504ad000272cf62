import { describe, expect, it } from 'vitest';
import { AUTO } from '../../../src/policies/entry.js';
import { models } from '../../core/fixtures.js';
import { MS, PolicyHarness } from '../policy-harness.js';

/** Two models, warm on one GPU: 3, 5 and 8 ms at batch 1, 2 and 4. */
function clockwork(sloMs: number): PolicyHarness {
  const harness = new PolicyHarness({
    policy: 'clockwork',
    options: { scheduleAhead: AUTO, latestDelta: 10 * MS, maxBatch: 8, maxExec: 250 * MS },
    models: models(2),
    sloNs: sloMs * MS,
  });
  harness.controller.gpuUp(0, [0, 1]);
  return harness;
}

describe('clockwork with scheduleAhead: auto', () => {
  it('plans for the SLO itself while nothing speaks against it, not for 5 ms less', () => {
    const harness = clockwork(12);
    // 1 ms to get there, 8 ms: with the published constants, which aim at 7 ms, it would be smaller.
    expect(harness.arrive(0, [0, 0, 0, 0])).toEqual(['INFER model 0 batch 4 on GPU 0']);
  });

  it('books 2 ms ahead at first, and wakes when a lane can be booked again', () => {
    const harness = clockwork(100);
    harness.arrive(0, [0]);
    expect(harness.arrive(0.5, [1])).toEqual([]);
    expect(harness.controller.nextWakeNs(0.5 * MS)).toBe(1 * MS + 1);
    expect(harness.step(1.01)).toEqual(['INFER model 1 batch 1 on GPU 0']);
  });

  it('ends at the least that the published timeline allows, where control takes no time', () => {
    const harness = clockwork(100);
    for (let ms = 0; ms < 3000; ms += 4) {
      harness.arrive(ms, [ms % 8 === 0 ? 0 : 1]);
      harness.settle(ms, ms + 3);
    }
    expect(harness.controller.tuned.scheduleAheadNs).toBeGreaterThan(1 * MS);
    expect(harness.controller.tuned.scheduleAheadNs).toBeLessThan(2.1 * MS);
  });
});
