import type { SweepResults } from '../metrics/results.js';
import { commonChoice, headline, type Recommendation, recommend } from './analyze.js';
import { choiceLabel, choiceOf, comparison, groupsAgainst } from './charts/finding.js';
import { formatPercent, formatRate } from './format.js';
import { aggregate, type Point, scoreOf, worstGroup } from './points.js';
import { keyLabel, valueLabel, valuesLabel } from './quantity.js';

/** What to do, and why, in words computed from the data. */
export interface Verdict {
  readonly title: string;
  readonly reason: string;
}

/** A sweep's conclusion: the value to deploy where something was to choose, else the range of goodput. */
export function verdict(results: SweepResults): Verdict {
  const recommendations = recommend(results);
  const top = headline(recommendations);
  if (top === null) return withoutChoice(results);
  const common = commonChoice(results, recommendations);
  const choice = common?.choice ?? top.choice;
  const usual = top.default === null ? null : choiceOf(top.default, top);
  const isDefault = usual !== null && JSON.stringify(usual) === JSON.stringify(choice);
  const title = `${isDefault ? 'Keep' : 'Deploy'} ${assignment(choice)}`;
  const grouped = top.best.groups.length > 0;
  if (common === null) return { title, reason: `${grouped ? groupsOf(top) : goodput(top)}.` };

  const name = conditionName(recommendations);
  const loss = 1 - common.worstShare;
  const measure = grouped ? 'attainment of the worst group' : 'goodput';
  const everywhere =
    loss < 0.001
      ? `It gives the best ${measure} at every ${name} tested.`
      : `One value for every ${name} tested: it loses at most ${formatPercent(loss)} of the best ${measure} of any.`;
  if (grouped) return { title, reason: `${everywhere} The most is at stake at ${groupsOf(top)}.` };
  const gain =
    top.improvement !== null && top.improvement >= 1.005 ? ` The most is at stake at ${goodput(top)}.` : '';
  return { title, reason: `${everywhere}${gain}` };
}

/** `SLO 50 ms: clockwork answers 100 % of interactive, 100 % of batch in time; fifo answers 29.1 % of …`. */
function groupsOf(recommendation: Recommendation): string {
  return `${where(recommendation)}${groupsAgainst(recommendation).join('; ')}`;
}

/** `SLO 10 ms: best with 5 ms, 364 req/s within the objective (60.3 % of the offered), 7.0× the default (10 ms)`. */
function goodput(recommendation: Recommendation): string {
  const { best, choice } = recommendation;
  const against = comparison(recommendation);
  const rate = formatRate(Number(best.goodputRps.mean.toPrecision(3)));
  const result = `${rate} req/s within the objective (${formatPercent(best.sloAttainment.mean)} of the offered)`;
  return `${where(recommendation)}${choiceLabel(choice)} gives ${result}${against === '' ? '' : `, ${against}`}`;
}

function where({ conditions }: Recommendation): string {
  return Object.keys(conditions).length === 0 ? '' : `${valuesLabel(conditions)}: `;
}

function withoutChoice(results: SweepResults): Verdict {
  const points = aggregate(results);
  const [first] = points;
  if (first === undefined)
    return { title: 'No run finished', reason: 'Every cell failed; the reasons are listed below.' };
  const ascending = [...points].sort((a, b) => scoreOf(a) - scoreOf(b));
  const [low, high] = [ascending[0] as Point, ascending[ascending.length - 1] as Point].map(scoreAt);
  const measure = first.groups.length > 0 ? 'Worst group' : 'Goodput';
  if (points.length === 1) {
    const share = formatPercent(first.sloAttainment.mean);
    const reason = `${share} of the offered requests were answered within their objective.`;
    return { title: `${measure} ${high}`, reason };
  }
  return {
    title: `${measure} up to ${high}`,
    reason: `The lowest is ${low}. Nothing that an operator chooses was varied, so there is nothing to recommend: vary a policy or cluster key, e.g. policy.scheduleAhead.`,
  };
}

/** `364 req/s at SLO 10 ms`; of groups the one that fares worst, `28 % of interactive in time at SLO 10 ms`. */
function scoreAt(point: Point): string {
  const worst = worstGroup(point);
  const score =
    worst === null
      ? `${formatRate(Number(point.goodputRps.mean.toPrecision(3)))} req/s`
      : `${formatPercent(worst.sloAttainment.mean)} of ${worst.name} in time`;
  const place = valuesLabel(point.values);
  return place === '' ? score : `${score} at ${place}`;
}

function assignment(choice: Readonly<Record<string, string>>): string {
  return Object.entries(choice)
    .map(([key, value]) => `${keyLabel(key)} = ${valueLabel(value)}`)
    .join(', ');
}

function conditionName(recommendations: readonly Recommendation[]): string {
  const keys = Object.keys(recommendations[0]?.conditions ?? {});
  return keys.length === 1 ? keyLabel(keys[0] as string) : 'condition';
}
