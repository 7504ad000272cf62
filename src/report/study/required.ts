import type { SweepResults } from '../../record/results.js';
import { checkThreshold, parseThreshold } from '../../record/threshold.js';
import type { Point } from './points.js';

/** Selects points of which every run meets the sweep's thresholds; without thresholds, all do. */
export function requirementOf({ required = [] }: SweepResults): (point: Point) => boolean {
  const thresholds = required.map(parseThreshold);
  return ({ cells }) =>
    thresholds.every((threshold) =>
      cells.every(({ result }) => checkThreshold(threshold, result.summary).ok),
    );
}

/** `p99<100ms and attainment>=99%`; empty: nothing is required. */
export function requiredText({ required = [] }: SweepResults): string {
  return required.join(' and ');
}
