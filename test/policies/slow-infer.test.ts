import { expect, it } from 'vitest';
import type { Action } from '../../src/core/action.js';
import { models } from '../core/fixtures.js';
import { MS, PolicyHarness } from './policy-harness.js';

/** With the time that an INFER took; with the rest it came late. */
const OPTIONS = [
  ['edf', { maxBatch: 8, margin: 0 }, 5000],
  ['shepherd', { maxBatch: 8, preemption: 3.03, period: 10_000 * MS, margin: 0 }, 5000],
  ['symphony', { maxBatch: 8, margin: 0 }, 5000],
  ['escapement', { scheduleAhead: 10 * MS, fairness: 0.55, maxBatch: 8 }, 3],
] as const;

it.each(OPTIONS)(
  '%s: an INFER that ended very late does not shut its model out',
  (policy, options, tookMs) => {
    const harness = new PolicyHarness({ policy, options, models: models(1), sloNs: 100 * MS });
    harness.controller.gpuUp(0, [0]);
    harness.arrive(0, [0]);
    // Some hold it until its deadline is near.
    if (harness.outstanding.length === 0) harness.step(95);
    Object.assign(harness.outstanding[0] as Action, { expectedDurationNs: tookMs * MS });
    harness.end(5000);
    // Measured just now, it counts. But what is refused is not measured: later it is tried again.
    harness.arrive(5500, [0]);
    expect(harness.answers).toHaveLength(2);
    harness.arrive(6500, [0]);
    expect(harness.answers).toHaveLength(2);
  },
);
