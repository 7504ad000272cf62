import type { SweepResults } from '../../record/results.js';
import { listed } from '../../text/words.js';
import { costTexts } from '../cost-text.js';
import { FLEET_TARGET } from '../fleets.js';
import { valuesLabel } from '../quantity.js';
import { sweepAxes } from './axes.js';
import { aggregate, type Point } from './points.js';

const TARGET = `${Math.round(FLEET_TARGET * 100)} %`;

/** The cheapest fleet under one condition. */
interface Cheapest {
  readonly fleet: string;
  readonly condition: string;
  readonly meets: boolean;
  /** What counts: per hour if it meets the target, else per million requests in time. */
  readonly price: string;
}

/**
 * Which of the fleets of a sweep costs the least, in a title and a sentence: per hour among those that answer 99 % in time, else per
 * million requests in time. Null where GPUs have no price, or only one fleet was run.
 */
export function cheapestFleet(
  results: SweepResults,
): { readonly title: string; readonly reason: string } | null {
  const points = aggregate(results);
  const keys = fleetKeys(results, points);
  if (keys.length === 0 || points.some(({ cost }) => cost === null)) return null;
  const conditions = groupBy(points, (point) => valuesLabel(pick(point, (key) => !keys.includes(key))));
  const all = [...conditions].map(([condition, here]) => cheapestOf(condition, here, keys));
  const meeting = all.filter(({ meets }) => meets);
  const others = all.filter(({ meets }) => !meets);
  const missing = others.length === 0 ? '' : `No fleet answers ${TARGET} in time${placeOf(others)}. `;
  if (meeting.length === 0)
    return {
      title: `Cheapest per request in time: ${textOf(others, false)}`,
      reason: `${missing}Prices are per million requests in time.`,
    };
  return {
    title: `Cheapest with ${TARGET} in time: ${textOf(meeting, true)}`,
    reason:
      others.length === 0
        ? `At every condition, of the fleets that answer ${TARGET} of the requests in time, the one with the lowest price per hour.`
        : `${missing}Cheapest there per million requests in time: ${textOf(others, false)}.`,
  };
}

/** Keys that change which GPUs there are. */
function fleetKeys(results: SweepResults, points: readonly Point[]): string[] {
  return sweepAxes(results)
    .map(({ key }) => key)
    .filter((key) => {
      const same = groupBy(points, (point) => JSON.stringify(pick(point, (other) => other !== key)));
      return [...same.values()].some((members) => new Set(members.map(fleetOf)).size > 1);
    });
}

function fleetOf({ cells }: Point): string {
  const kinds = cells[0]?.result.summary.kinds ?? [];
  return JSON.stringify(kinds.filter(({ gpus }) => gpus > 0).map(({ kind, gpus }) => [kind, gpus]));
}

function cheapestOf(condition: string, points: readonly Point[], keys: readonly string[]): Cheapest {
  const good = points.filter(({ attainment }) => attainment.mean >= FLEET_TARGET);
  const meets = good.length > 0;
  const price = ({ cost }: Point) =>
    (meets ? cost?.perHour : cost?.perMillionInTime) ?? Number.POSITIVE_INFINITY;
  const best = (meets ? good : points).reduce((a, b) => (price(b) < price(a) ? b : a));
  const fleet = Object.values(pick(best, (key) => keys.includes(key))).join(', ');
  return { fleet, condition, meets, price: costTexts(best.cost)[meets ? 0 : 1] };
}

/** `14 × T4 at SLO 50 ms and SLO 100 ms (4.90 per hour)`. */
function textOf(all: readonly Cheapest[], perHour: boolean): string {
  const groups = [...groupBy(all, ({ fleet }) => fleet)];
  return groups
    .map(([fleet, members]) => {
      const prices = listed([...new Set(members.map(({ price }) => price))]);
      return `${fleet}${placeOf(members)} (${prices}${perHour ? ' per hour' : ''})`;
    })
    .join('; ');
}

function placeOf(members: readonly Cheapest[]): string {
  const places = members.map(({ condition }) => condition).filter((text) => text !== '');
  return places.length === 0 ? '' : ` at ${listed(places)}`;
}

function pick({ values }: Point, wanted: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => wanted(key)));
}

function groupBy<T>(items: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}
