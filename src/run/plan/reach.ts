import type { Experiment } from '../../config/experiment.js';
import { ratioOf } from '../../record/counted.js';
import { parsePercentile } from '../../record/latency.js';
import type { BoundFigures } from '../../record/results.js';
import { holds, type Threshold } from '../../record/threshold.js';
import { meanOf, meanOfKnown } from '../../report/statistics.js';
import { atLeast } from './judge.js';

/** True if this share of the requests, and this many per second, can be enough for a target. */
type Need = (share: number, rps: number) => boolean;

/** Quotients of equal counts may differ in the last digit. */
const ROUNDING = 1 + 1e-9;
/** Shares in time without which latencies over all requests are infinite, except percentiles. */
const LEAST_IN_TIME: Readonly<Record<string, number>> = { mean: 1, max: 1, p999: 0.999, p9999: 0.9999 };

/**
 * Rules out fleets by upper bounds, one per seed: true if no scheduler could meet all targets. Null if bounds can prove
 * nothing: they hold only if nothing takes less time than its profile says, and for requests that do not follow answers.
 */
export function reachOf(
  targets: readonly Threshold[],
  { workloads, cluster: { noise, changes } }: Experiment,
): ((bounds: readonly BoundFigures[]) => boolean) | null {
  const isExact =
    noise.distribution === 'normal' &&
    noise.exec === 0 &&
    changes.every((change) => change.noise.exec === 0) &&
    workloads.every(({ kind }) => kind !== 'closed-loop');
  const needs = targets.flatMap((target) => needOf(target) ?? []);
  if (!isExact || needs.length === 0) return null;
  return (bounds) => {
    const rps = meanOfKnown(bounds.map(({ bestRps }) => bestRps));
    if (rps === null) return false;
    const share = meanOf(bounds.map((one) => ratioOf(one.bestRps ?? 0, one.offeredRps ?? 0) ?? 1));
    return needs.some((isMet) => !isMet(share * ROUNDING, rps * ROUNDING));
  };
}

/** Null if any number of requests may fail, or nothing bounds it. */
function needOf(target: Threshold): Need | null {
  const { metric } = target;
  if (atLeast(target)) {
    if (metric === 'attainment') return (share) => holds(target, share);
    return metric === 'goodputRps' ? (_, rps) => holds(target, rps) : null;
  }
  const named = parsePercentile(metric);
  const least = named?.reading === 'offered' ? named.percentile / 100 : LEAST_IN_TIME[metric];
  return least === undefined ? null : (share) => share >= least;
}
