import type { SweepResults } from '../../record/results.js';
import { listed } from '../../text/words.js';
import { costTexts } from '../cost-text.js';
import { groupBy } from '../group-by.js';
import { valuesLabel } from '../quantity.js';
import { sweepAxes } from './axes.js';
import { choiceLabel } from './finding.js';
import { fleetRanking, fleetTarget, pricedFleetKeys, standingByPrice } from './fleet-ranking.js';
import { aggregate, type Point } from './points.js';

/** The cheapest fleet under one condition. */
interface Cheapest {
  readonly fleet: string;
  readonly condition: string;
  readonly meets: boolean;
  /** The price that counts: per hour if it meets the target, else per million requests in time. */
  readonly price: string;
}

/**
 * The cheapest fleet of a sweep, in a title and a sentence: per hour among those that answer 99 % in time (or meet the
 * sweep's thresholds), else per million requests in time. Null if GPUs have no price, or only one fleet was run.
 */
export function cheapestFleet(
  results: SweepResults,
): { readonly title: string; readonly reason: string } | null {
  const points = aggregate(results);
  const keys = pricedFleetKeys(results);
  if (keys.length === 0) return null;
  const choices = [...keys, ...sweepAxes(results).flatMap(({ key, isChoice }) => (isChoice ? [key] : []))];
  const conditions = groupBy(points, (point) => valuesLabel(pick(point, (key) => !choices.includes(key))));
  const all = [...conditions].map(([condition, here]) => cheapestOf(condition, here, choices, results));
  const meeting = all.filter(({ meets }) => meets);
  const others = all.filter(({ meets }) => !meets);
  const target = fleetTarget(results);
  const answers = results.required === undefined ? 'answers' : 'meets';
  const missing = others.length === 0 ? '' : `No fleet ${answers} ${target}${placeOf(others)}. `;
  if (meeting.length === 0)
    return {
      title: `Cheapest per request in time: ${textOf(others, false)}`,
      reason: `${missing}Prices are per million requests in time.`,
    };
  const where = all.length === 1 ? 'Of' : 'At every condition, of';
  const those =
    answers === 'answers' ? `answer ${target.replace(' in', ' of the requests in')}` : `meet ${target}`;
  return {
    title: `Cheapest with ${target}: ${textOf(meeting, true)}`,
    reason:
      others.length === 0
        ? `${where} the fleets that ${those}, the one with the lowest price per hour.`
        : `${missing}Cheapest there per million requests in time: ${textOf(others, false)}.`,
  };
}

function cheapestOf(
  condition: string,
  points: readonly Point[],
  keys: readonly string[],
  results: SweepResults,
): Cheapest {
  const { eligible, ranking } = fleetRanking(points, results);
  const { best } = standingByPrice(eligible, ranking);
  const fleet = choiceLabel(pick(best, (key) => keys.includes(key)));
  const meets = ranking === 'hour';
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
