import { formatFactor, formatPercent, formatRate } from '../../text/numbers.js';
import { costTexts } from '../cost-text.js';
import { takeFleet } from '../fleet-label.js';
import { keyLabel, parseQuantity, valueLabel, valuesLabel } from '../quantity.js';
import type { Recommendation } from './analyze.js';
import { hasOffered, type Point, scoreOf, worstGroup } from './points.js';

const MOST_GROUPS = 3;

/**
 * A recommendation in one line: `Best: 5 ms at SLO 10 ms (a tie with 4 ms), 7.0× the default (10 ms)`. Empty for null.
 */
export function finding(recommendation: Recommendation | null): string {
  if (recommendation === null) return '';
  const { best, conditions, tied, ranking } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : ` at ${valuesLabel(conditions)}`;
  if (ranking !== 'score') {
    const [perHour, perMillion] = costTexts(best.cost);
    const price = ranking === 'hour' ? `${perHour} per hour` : `${perMillion} per million requests in time`;
    return `Cheapest${where}: ${choiceLabel(best.choice)}, ${price}`;
  }
  if (best.groups.length > 0) return `Best${where}: ${groupsAgainst(recommendation).join(' · ')}`;
  const what = comparison(recommendation, best) || goodputOf(best);
  const tie = tied.length === 0 ? '' : ` (a tie with ${choicesLabel(tied)})`;
  return `Best: ${choiceLabel(best.choice)}${where}${tie}, ${what}`;
}

/** `fifo answers 29.1 % of interactive, 100 % of batch in time`: the best choice, and the poorest if different. */
export function groupsAgainst(recommendation: Recommendation): string[] {
  const { best, poorest, tied } = recommendation;
  const points = best === poorest ? [best] : [best, poorest];
  const tie = tied.length === 0 ? '' : `, a tie with ${choicesLabel(tied)}`;
  return points.map((point, i) =>
    i === 0
      ? `${choiceLabel(point.choice)} answers ${servedGroups(point)}${tie}`
      : `${tie === '' ? '' : 'the poorest, '}${choiceLabel(point.choice)}${tie === '' ? '' : ','} answers ${servedGroups(point)}`,
  );
}

/** Choices that tie, up to `most` of them, and the number of further ones: `2 ms, 4 ms, 6 ms and 2 more`. */
export function choicesLabel(tied: readonly Pick<Point, 'choice'>[], most = 3): string {
  const shown = tied.length <= most + 1 ? tied : tied.slice(0, most);
  const names = shown.map(({ choice }) => choiceLabel(choice));
  const separator = names.some((name) => name.includes(',')) ? '; ' : ', ';
  const more = tied.length - shown.length;
  return `${names.join(separator)}${more === 0 ? '' : ` and ${more} more`}`;
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

/** Finding of a chart of goodput. Empty for groups: their sum hides who is served. */
export function goodputFinding(recommendation: Recommendation | null, points: readonly Point[]): string {
  if (points.some(({ weighted }) => weighted !== null))
    return 'Each request counts as much as its class weighs';
  if (points.some(({ groups }) => groups.length > 1)) return 'Sum of all groups, which hides who is served';
  // If something can be chosen, the best is in another panel.
  const chosen = points.some(({ choice }) => Object.keys(choice).length > 0);
  return finding(recommendation) || (chosen ? '' : highest(points));
}

/** Finding if there is nothing to recommend: `Highest: 700 req/s at workload.rate 1000/s`. */
function highest(points: readonly Point[]): string {
  if (points.length === 0) return '';
  const best = points.reduce((most, point) => (scoreOf(point) > scoreOf(most) ? point : most));
  return `Highest: ${goodputOf(best)}, at ${valuesLabel(best.values)}`;
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

/** Comparison with the default: `7.0× the default (10 ms)`; empty if no default was run. */
export function comparison({ default: usual }: Recommendation, point: Point): string {
  if (usual === null) return '';
  const label = choiceLabel(usual.choice);
  const name = label.includes('(') ? `the default, ${label}` : `the default (${label})`;
  if (point === usual) return 'which is the default';
  const [score, base] = [scoreOf(point), scoreOf(usual)];
  if (base === 0)
    return score === 0 ? `nothing in time, like ${name}` : `where ${name} serves nothing in time`;
  return `${formatFactor(score / base)} ${name}`;
}

function goodputOf(point: Point): string {
  return `${formatRate(point.goodputRps!.mean)} req/s, ${formatPercent(point.attainment?.mean ?? null)} of the offered`;
}
