import { gpuHoursOf } from '../../record/figures.js';
import type { SweepResults } from '../../record/results.js';
import { meanOf } from '../statistics.js';
import { aggregate, type Point } from './points.js';

/** Share of the requests that a fleet must answer in time to be ranked by what it costs. */
export const FLEET_TARGET = 0.99;

/** What one choice of a sweep paid for, and got. */
export interface RankedFleet {
  readonly point: Point;
  /** Means over seeds; the cost of a whole run is null where prices are not known. */
  readonly gpuHours: number;
  readonly cost: number | null;
  readonly attainment: number;
  readonly meets: boolean;
}

/**
 * The choices of a sweep in which some fleet is scaled: those that meet the target by GPU-hours, the fewest first, then the others
 * by attainment. By cost where all fleets have a price and GPUs are of several kinds. Empty where no scaler was at work.
 */
export function rankFleets(results: SweepResults): RankedFleet[] {
  const points = aggregate(results);
  if (!points.some(({ cells }) => cells.some(({ result }) => result.summary.scaling !== undefined)))
    return [];
  const fleets = points.map((point) => {
    const summaries = point.cells.map(({ result }) => result.summary);
    const costs = summaries.map(({ cost, durationSeconds }) =>
      cost === undefined ? null : (cost.perHour * durationSeconds) / 3600,
    );
    const attainment = point.attainment.mean;
    return {
      point,
      gpuHours: meanOf(summaries.map((summary) => gpuHoursOf(summary) ?? 0)),
      cost: costs.includes(null) ? null : meanOf(costs as number[]),
      attainment,
      meets: attainment >= FLEET_TARGET,
    };
  });
  const byCost = fleets.every(({ cost }) => cost !== null) && points.some(hasKinds);
  const paid = (fleet: RankedFleet) => (byCost ? (fleet.cost as number) : fleet.gpuHours);
  return fleets.sort((a, b) => {
    if (a.meets !== b.meets) return a.meets ? -1 : 1;
    return a.meets ? paid(a) - paid(b) : b.attainment - a.attainment;
  });
}

function hasKinds({ cells }: Point): boolean {
  return cells.some(({ result }) => (result.summary.kinds?.length ?? 0) > 1);
}
