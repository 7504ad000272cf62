import type { Recommendation } from '../analyze.js';
import { formatFactor, formatPercent, formatRate } from '../format.js';
import { type Point, worstGroup } from '../points.js';
import { keyLabel, parseQuantity, valueLabel, valuesLabel } from '../quantity.js';

const MOST_GROUPS = 3;

/** What a recommendation says in one line: `Best: 5 ms at SLO 10 ms, 7.0× the default (10 ms)`. Empty for null. */
export function finding(recommendation: Recommendation | null): string {
  if (recommendation === null) return '';
  const { best, conditions } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : ` at ${valuesLabel(conditions)}`;
  if (best.groups.length > 0) return `Best${where}: ${groupsAgainst(recommendation).join(' · ')}`;
  const what = comparison(recommendation) || goodputOf(best);
  return `Best: ${choiceLabel(recommendation.choice)}${where}, ${what}`;
}

/** `fifo answers 29.1 % of interactive, 100 % of batch in time`: the best choice, and the poorest if another. */
export function groupsAgainst(recommendation: Recommendation): string[] {
  const { best, poorest } = recommendation;
  const points = best === poorest ? [best] : [best, poorest];
  return points.map(
    (point) => `${choiceLabel(choiceOf(point, recommendation))} answers ${servedGroups(point)}`,
  );
}

/** `29.1 % of interactive, 100 % of batch in time`; of many groups only the one that fares worst. */
export function servedGroups(point: Pick<Point, 'groups'>): string {
  const shown = point.groups.length <= MOST_GROUPS ? point.groups : [worstGroup(point)];
  const shares = shown.flatMap((group) =>
    group === null ? [] : [`${formatPercent(group.sloAttainment.mean)} of ${group.name}`],
  );
  return `${shares.join(', ')}${point.groups.length <= MOST_GROUPS ? '' : ' (the worst group)'} in time`;
}

/** What a chart of goodput says. Of groups it says nothing: their sum hides who is served. */
export function goodputFinding(recommendation: Recommendation | null, points: readonly Point[]): string {
  if (points.some(({ groups }) => groups.length > 0)) return 'Sum of all groups: does not tell who is served';
  return finding(recommendation) || highest(points);
}

/** What the points say where there is nothing to recommend: `Highest: 700 req/s at workload.rate 1000/s`. */
function highest(points: readonly Point[]): string {
  const [first, ...others] = points;
  if (first === undefined) return '';
  const top = others.reduce(
    (best, point) => (point.goodputRps.mean > best.goodputRps.mean ? point : best),
    first,
  );
  return `Highest: ${goodputOf(top)}, at ${valuesLabel(top.values)}`;
}

/**
 * Values of the chosen keys, `5 ms, fifo`. A key is named where its value does not tell: plain numbers,
 * and several values of one unit.
 */
export function choiceLabel(choice: Readonly<Record<string, string>>): string {
  const entries = Object.entries(choice);
  const unitOf = (value: string) => parseQuantity(value)?.unit ?? 'name';
  return entries
    .map(([key, value]) => {
      const alone = entries.filter(([, other]) => unitOf(other) === unitOf(value)).length === 1;
      return alone && unitOf(value) !== '' ? valueLabel(value) : `${keyLabel(key)} ${valueLabel(value)}`;
    })
    .join(', ');
}

/** `7.0× the default (10 ms)`; empty where no default was run. */
export function comparison(recommendation: Recommendation): string {
  const { improvement, default: usual, best } = recommendation;
  if (improvement === null || usual === null) return '';
  const name = `the default (${choiceLabel(choiceOf(usual, recommendation))})`;
  if (best === usual) return 'which is the default';
  if (improvement < 1.005) return `as good as ${name}`;
  if (improvement === Number.POSITIVE_INFINITY) return `where ${name} serves nothing in time`;
  return `${formatFactor(improvement)} ${name}`;
}

/** Values of the chosen keys at another point, e.g. at the default. */
export function choiceOf(point: Point, { choice }: Recommendation): Record<string, string> {
  return Object.fromEntries(Object.keys(choice).map((key) => [key, point.values[key] ?? '']));
}

function goodputOf(point: Point): string {
  return `${formatRate(point.goodputRps.mean)} req/s, ${formatPercent(point.sloAttainment.mean)} of the offered`;
}
