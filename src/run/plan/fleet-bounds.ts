import type { Experiment } from '../../config/experiment.js';
import type { BoundFigures } from '../../record/results.js';
import { holds, type Threshold } from '../../record/threshold.js';
import { meanOf } from '../../report/statistics.js';
import { atLeast } from './judge.js';

/** Figures that have an upper bound. */
const BOUNDED: Readonly<Record<string, (bounds: BoundFigures) => number>> = {
  attainment: ({ bestRps, offeredRps }) => (offeredRps === 0 ? 1 : bestRps / offeredRps),
  goodputRps: ({ bestRps }) => bestRps,
};

/** The targets that can be proved to be missed. */
export function boundedTargets(targets: readonly Threshold[], experiment: Experiment): readonly Threshold[] {
  if (!hasBounds(experiment)) return [];
  return targets.filter((target) => BOUNDED[target.metric] !== undefined && atLeast(target));
}

/** Whether no scheduler could meet all of them; `bounds`: with each of so many seeds. */
export function isOutOfReach(
  targets: readonly Threshold[],
  bounds: readonly BoundFigures[],
  seeds: number,
): boolean {
  if (bounds.length < seeds) return false;
  return targets.some((target) => !holds(target, meanOf(bounds.map(BOUNDED[target.metric]!))));
}

/** Whether bounds hold for each run: requests do not depend on answers, and nothing takes less time than its profile says. */
function hasBounds({ workloads, cluster: { noise, changes } }: Experiment): boolean {
  if (workloads.some(({ kind }) => kind === 'closed-loop')) return false;
  return (
    noise.distribution === 'normal' && noise.exec === 0 && changes.every((change) => change.noise.exec === 0)
  );
}
