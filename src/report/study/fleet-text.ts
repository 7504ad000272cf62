import type { SweepResults } from '../../record/results.js';
import { formatPercent, round3 } from '../../text/numbers.js';
import { valuesLabel } from '../quantity.js';
import { FLEET_TARGET, type RankedFleet, rankFleets } from './fleets.js';

const TARGET = `${Math.round(FLEET_TARGET * 100)} %`;

/** The ranking of fleets as rows of a table, its head first; empty where no scaler was at work. */
export function fleetRows(results: SweepResults): string[][] {
  const fleets = rankFleets(results);
  if (fleets.length === 0) return [];
  const priced = fleets.every(({ cost }) => cost !== null);
  return [
    ['fleet', 'GPU-hours', ...(priced ? ['cost'] : []), 'attained', `${TARGET} in time`],
    ...fleets.map((fleet) => [
      fleetName(fleet),
      String(round3(fleet.gpuHours)),
      ...(priced ? [String(round3(fleet.cost as number))] : []),
      formatPercent(fleet.attainment),
      fleet.meets ? 'yes' : 'no',
    ]),
  ];
}

/** The answer in one sentence; empty where no scaler was at work. */
export function fleetVerdict(results: SweepResults): string {
  const answer = fleetAnswer(results);
  if (answer === null) return '';
  return `${answer.title}${answer.reason === '' ? '' : `: ${answer.reason}`}.`;
}

/** The same in two parts: which fleet costs the least, and how much less than others; null where no scaler was at work. */
export function fleetAnswer(
  results: SweepResults,
): { readonly title: string; readonly reason: string } | null {
  const fleets = rankFleets(results);
  if (fleets.length === 0) return null;
  // Nothing real can know the future.
  const real = fleets.filter((fleet) => !isClairvoyant(fleet));
  const [best] = real;
  if (best === undefined || !best.meets)
    return { title: `No fleet answers ${TARGET} of the requests in time`, reason: '' };
  const others = real.filter((fleet) => fleet.meets && fleet !== best);
  const fixed = others.find((fleet) => !isScaled(fleet));
  const clairvoyant = fleets.find((fleet) => fleet.meets && isClairvoyant(fleet));
  const against = [
    ...(fixed === undefined ? [] : [`${less(best, fixed)} than the best fixed fleet, ${fleetName(fixed)}`]),
    ...(clairvoyant === undefined
      ? []
      : [`${round3(best.gpuHours / clairvoyant.gpuHours)} times those of the plan that knows all arrivals`]),
  ];
  return {
    title: `Fewest GPU-hours at ${TARGET} in time: ${fleetName(best)}, ${round3(best.gpuHours)}`,
    reason: against.join(', and '),
  };
}

export function fleetName({ point }: RankedFleet): string {
  const values = Object.values(point.values);
  return values.length === 1 ? (values[0] as string) : valuesLabel(point.values) || 'this fleet';
}

function less(best: RankedFleet, other: RankedFleet): string {
  return `${formatPercent(1 - best.gpuHours / other.gpuHours)} fewer`;
}

function isScaled({ point }: RankedFleet): boolean {
  return point.cells.some(({ result }) => result.summary.scaling !== undefined);
}

function isClairvoyant({ point }: RankedFleet): boolean {
  return point.cells.some(({ result }) => result.summary.scaling?.scaler === 'clairvoyant');
}
