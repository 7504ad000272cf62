import type { Threshold } from '../../record/threshold.js';
import type { Tried } from './plan-result.js';

/** Farther than any measured figure is from its limit. Among values without one, more answers in time are nearer. */
const NO_FIGURE = -1e12;

/** The value that missed its targets by least. */
export function closestOf(tried: readonly Tried[], targets: readonly Threshold[]): string {
  const margin = (one: Tried) => leastMargin(one, targets);
  return tried.reduce((best, next) => (margin(next) > margin(best) ? next : best)).value;
}

/** Of the target that is missed by most, as a share of its limit; beyond all of them where it has no figure. */
function leastMargin({ figures, attainment }: Tried, targets: readonly Threshold[]): number {
  const margins = figures.map(({ margin }, i) =>
    margin === null ? NO_FIGURE * (2 - (attainment ?? 0)) : margin / (targets[i]!.limit || 1),
  );
  return margins.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...margins);
}
