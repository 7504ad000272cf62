import type { SweepResults } from '../../record/results.js';
import { checkThreshold, type Threshold, type ThresholdResult } from '../../record/threshold.js';

/** One threshold checked against one run. */
export interface ThresholdCase extends ThresholdResult {
  /** The run among several, e.g. `slo=10ms seed=1`; empty for the only one. */
  readonly run: string;
  /** Why the run has no figures; absent if it has. */
  readonly error?: string;
}

/** Each threshold with each run of a sweep, in the order of the thresholds, then of the grid. */
export function sweepCases(thresholds: readonly Threshold[], { cells }: SweepResults): ThresholdCase[] {
  return thresholds.flatMap((threshold) =>
    cells.map((cell): ThresholdCase => {
      if (cell.status === 'done') return { run: cell.id, ...checkThreshold(threshold, cell.result.summary) };
      const error = `${cell.code}: ${cell.message}`;
      return { run: cell.id, threshold: threshold.text, ok: false, actual: null, measured: 'failed', error };
    }),
  );
}
