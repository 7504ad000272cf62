import type { SweepResults } from '../../record/results.js';
import { type Fleet, fleetOf, type RankedFleet, rankFleets } from '../fleets.js';
import { valuesLabel } from '../quantity.js';
import { sendersOf } from '../senders.js';
import { meanOf } from '../statistics.js';
import { aggregate, type Point } from './points.js';

/** Fleets of a sweep, one per choice; empty without a scaler. */
export function sweptFleets(results: SweepResults): RankedFleet[] {
  const fleets = aggregate(results).flatMap((point): Fleet[] => {
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
  return rankFleets(fleets);
}

function nameOf({ values }: Point): string {
  const all = Object.values(values);
  return all.length === 1 ? (all[0] as string) : valuesLabel(values) || 'this fleet';
}
