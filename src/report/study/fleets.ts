import type { SweepResults } from '../../record/results.js';
import { type Fleet, fleetOf, type RankedFleet, rankFleets } from '../fleets.js';
import { valuesLabel } from '../quantity.js';
import { sendersOf } from '../senders.js';
import { meanOf } from '../statistics.js';
import { aggregate, type Point } from './points.js';

/** The fleets of a sweep, one for each choice; empty where no scaler was at work. */
export function sweptFleets(results: SweepResults): RankedFleet[] {
  return rankFleets(fleetsOf(results));
}

/** The same without a rank, for the fleets of several sweeps. */
export function fleetsOf(results: SweepResults): Fleet[] {
  return aggregate(results).flatMap((point) => {
    const fleets = point.cells.flatMap(({ result }) => fleetOf(nameOf(point), result.summary) ?? []);
    const [first] = fleets;
    if (first === undefined) return [];
    const costs = fleets.flatMap(({ cost }) => cost ?? []);
    return [
      {
        ...first,
        gpuHours: meanOf(fleets.map(({ gpuHours }) => gpuHours)),
        cost: costs.length < fleets.length ? null : meanOf(costs),
        attainment: point.attainment?.mean ?? null,
        ...sendersOf(point.cells.map(({ result }) => result.summary)),
      },
    ];
  });
}

function nameOf({ values }: Point): string {
  const all = Object.values(values);
  return all.length === 1 ? (all[0] as string) : valuesLabel(values) || 'this fleet';
}
