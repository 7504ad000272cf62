import type { SweepResults } from '../../record/results.js';
import { FLEET_TARGET } from '../fleets.js';
import { sweepAxes } from './axes.js';
import type { Standing } from './best.js';
import { aggregate, type Point, scoreOf } from './points.js';
import { requiredText, requirementOf } from './required.js';

/** The price that decides: per hour among fleets that meet the requirements, per request in time if none does. */
export type FleetRanking = 'hour' | 'request';

/** Keys of a sweep that change the GPUs, if all fleets have a price; else none. */
export function pricedFleetKeys(results: SweepResults): string[] {
  const points = aggregate(results);
  if (points.some(({ cost }) => cost === null)) return [];
  return sweepAxes(results)
    .map(({ key }) => key)
    .filter((key) => {
      const same = new Map<string, Set<string>>();
      for (const point of points) {
        const others = JSON.stringify(Object.entries(point.values).filter(([other]) => other !== key));
        same.set(others, (same.get(others) ?? new Set()).add(fleetOf(point)));
      }
      return [...same.values()].some((fleets) => fleets.size > 1);
    });
}

/** True if the choices of a sweep are fleets with prices and without a scaler. */
export function isRankedByPrice(results: SweepResults): boolean {
  const keys = pricedFleetKeys(results);
  const isScaled = results.cells.some(
    (cell) => cell.status === 'done' && cell.result.summary.scaling !== undefined,
  );
  return !isScaled && sweepAxes(results).some(({ key, isChoice }) => isChoice && keys.includes(key));
}

/** Fleets under one condition among which the price decides, and which price. */
export function fleetRanking(
  points: readonly Point[],
  results: SweepResults,
): { readonly eligible: readonly Point[]; readonly ranking: FleetRanking } {
  const { required = [] } = results;
  const meets =
    required.length > 0
      ? requirementOf(results)
      : ({ attainment }: Point) => (attainment?.mean ?? -1) >= FLEET_TARGET;
  const meeting = points.filter(meets);
  return meeting.length > 0
    ? { eligible: meeting, ranking: 'hour' }
    : { eligible: points, ranking: 'request' };
}

/** Requirement on a fleet: `99 % in time`, or the thresholds of the sweep. */
export function fleetTarget(results: SweepResults): string {
  return requiredText(results) || `${Math.round(FLEET_TARGET * 100)} % in time`;
}

/** The cheapest, of equal prices the one with the highest score; others with its price tie with it. */
export function standingByPrice(points: readonly Point[], ranking: FleetRanking): Standing<Point> {
  const lowest = Math.min(...points.map((point) => priceOf(point, ranking)));
  const cheapest = points.filter((point) => priceOf(point, ranking) <= lowest);
  const best = cheapest.reduce((a, b) => (scoreOf(b) > scoreOf(a) ? b : a));
  return { best, equal: [best], tied: cheapest.filter((point) => point !== best) };
}

/** Infinity if there is none, because nothing was answered in time. */
export function priceOf({ cost }: Point, ranking: FleetRanking): number {
  return (ranking === 'hour' ? cost?.perHour : cost?.perMillionInTime) ?? Number.POSITIVE_INFINITY;
}

function fleetOf({ cells }: Point): string {
  const kinds = cells[0]?.result.summary.kinds ?? [];
  return JSON.stringify(kinds.filter(({ gpus }) => gpus > 0).map(({ kind, gpus }) => [kind, gpus]));
}
