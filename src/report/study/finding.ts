import { formatFactor, formatPercent, formatRate, round3 } from '../../text/numbers.js';
import { listed } from '../../text/words.js';
import { priceText } from '../cost-text.js';
import { takeFleet } from '../fleet-label.js';
import { keyLabel, parseQuantity, valueLabel, valuesLabel } from '../quantity.js';
import type { Recommendation } from './analyze.js';
import { hasOffered, type Point, scoreOf, worstGroup } from './points.js';

const MOST_GROUPS = 3;

/** A recommendation in one line: `Best at SLO 10 ms: 5 ms, 363.8 req/s, 7.0× the default (10 ms)`. Empty for null. */
export function finding(recommendation: Recommendation | null): string {
  if (recommendation === null) return '';
  const { best, choice, conditions, tied, ranking, improvement, default: usual } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : ` at ${valuesLabel(conditions)}`;
  if (ranking === 'price') return `Cheapest${where}: ${choiceLabel(choice)}, ${paidText(best)}`;
  return [
    `Best${where}: ${choiceLabel(choice)}`,
    best.groups.length > 0 ? servedGroups(best) : `${formatRate(best.goodputRps?.mean ?? null)} req/s`,
    ...(usual === null || usual === best || improvement === null
      ? []
      : [`${formatFactor(improvement)} the default (${choiceLabel(usual.choice)})`]),
    ...(tied.length === 0 ? [] : [`ties with ${tied.length} more`]),
  ].join(', ');
}

/** Meaning of the marks of recommendations in a chart: `best at each SLO`, `cheapest at each SLO`. */
export function bestOf(recommendations: readonly Recommendation[]): string {
  const isCheapest = recommendations.some(({ ranking }) => ranking === 'price');
  const conditions = Object.keys(recommendations[0]?.conditions ?? {}).map(keyLabel);
  return `${isCheapest ? 'cheapest' : 'best'}${conditions.length === 0 ? '' : ` at each ${listed(conditions)}`}`;
}

/** `3.85 per hour`, or `16.2 GPU-hours` without prices. */
export function paidText({ cost, gpuHours }: Pick<Point, 'cost' | 'gpuHours'>): string {
  return cost === null ? `${round3(gpuHours ?? 0)} GPU-hours` : `${priceText(cost.perHour)} per hour`;
}

/** `29.1 % of interactive, 100 % of batch in time`; of many groups only the worst-served one. */
export function servedGroups(point: Pick<Point, 'groups'>): string {
  const shown = point.groups.length <= MOST_GROUPS ? point.groups.filter(hasOffered) : [worstGroup(point)];
  const shares = shown.flatMap((group) =>
    group === null ? [] : [`${formatPercent(group.attainment.mean)} of ${group.name}`],
  );
  if (shares.length === 0) return 'nothing, as nothing was offered';
  return `${shares.join(', ')}${point.groups.length <= MOST_GROUPS ? '' : ' (the worst group)'} in time`;
}

/** Finding of a chart of goodput. For groups a warning: their sum hides who is served. */
export function goodputFinding(recommendation: Recommendation | null, points: readonly Point[]): string {
  if (points.some(({ weighted }) => weighted !== null))
    return 'Each request counts as much as its class weighs';
  if (points.some(({ groups }) => groups.length > 1)) return 'Sum of all groups, which hides who is served';
  const highest = points.reduce<Point | null>((most, point) => {
    return most === null || scoreOf(point) > scoreOf(most) ? point : most;
  }, null);
  if (recommendation !== null || highest === null) return finding(recommendation);
  return `Highest: ${formatRate(scoreOf(highest))} req/s at ${valuesLabel(highest.values)}`;
}

/**
 * Values of the chosen keys: `5 ms`, `escapement (auto)`, `fifo (GPUs 4)`. A key is named if its value is not enough:
 * for plain numbers, and several values of one unit. Numbers of GPUs of kinds are a fleet: `1 × v100 + 11 × t4`.
 */
export function choiceLabel(choice: Readonly<Record<string, string>>): string {
  const { 'policy.kind': kind, ...settings } = choice;
  const { fleet, others } = takeFleet(settings);
  const entries = Object.entries(others);
  const unitOf = (value: string) => parseQuantity(value)?.unit ?? 'name';
  const named = entries.map(([key, value]) => {
    const alone = entries.filter(([, other]) => unitOf(other) === unitOf(value)).length === 1;
    return alone && unitOf(value) !== '' ? valueLabel(value) : `${keyLabel(key)} ${valueLabel(value)}`;
  });
  const options = [...(fleet === null ? [] : [fleet]), ...named].join(', ');
  if (kind === undefined) return options;
  return options === '' ? kind : `${kind} (${options})`;
}
