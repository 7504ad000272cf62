import { parseThreshold } from '../../../src/record/threshold.js';
import { sweepCases, type ThresholdCase } from '../../../src/report/thresholds/cases.js';
import { sweepFixture } from '../fixtures.js';

export const FAILED = 'policy.scheduleAhead=5ms slo=10ms seed=1';
export const SWEEP = sweepFixture({ seeds: [1], failed: [FAILED] });
export const THRESHOLDS = ['goodputRps>0', 'executedP99<=10ms', 'p99<1h'].map((text) => parseThreshold(text));
export const CASES = sweepCases(THRESHOLDS, SWEEP);

/** A threshold that is met, with other fields as given. */
export function one(fields: Partial<ThresholdCase>): ThresholdCase {
  return { ...{ run: '', threshold: 'p99<1s', ok: true, actual: 94, measured: '94 ms' }, ...fields };
}
