import type { SweepResults } from '../metrics/results.js';
import { aggregate, commonChoice, headline, type Recommendation, recommend } from './analyze.js';
import { choiceLabel, choiceOf, comparison } from './charts/finding.js';
import { formatPercent, formatRate } from './format.js';
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
  if (common === null) return { title, reason: `${goodput(top)}.` };

  const name = conditionName(recommendations);
  const loss = 1 - common.worstShare;
  const everywhere =
    loss < 0.001
      ? `It gives the best goodput at every ${name} tested.`
      : `One value for every ${name} tested: it loses at most ${formatPercent(loss)} of the best goodput of any.`;
  const gain =
    top.improvement !== null && top.improvement >= 1.005 ? ` The most is at stake at ${goodput(top)}.` : '';
  return { title, reason: `${everywhere}${gain}` };
}

/** `SLO 10 ms: best with 5 ms, 364 req/s within the objective (60.3 % of the offered), 7.0× the default (10 ms)`. */
function goodput(recommendation: Recommendation): string {
  const { best, conditions, choice } = recommendation;
  const where = Object.keys(conditions).length === 0 ? '' : `${valuesLabel(conditions)}: `;
  const against = comparison(recommendation);
  const rate = formatRate(Number(best.goodputRps.mean.toPrecision(3)));
  const result = `${rate} req/s within the objective (${formatPercent(best.sloAttainment.mean)} of the offered)`;
  return `${where}${choiceLabel(choice)} gives ${result}${against === '' ? '' : `, ${against}`}`;
}

function withoutChoice(results: SweepResults): Verdict {
  const points = aggregate(results);
  if (points.length === 0)
    return { title: 'No run finished', reason: 'Every cell failed; the reasons are listed below.' };
  const ascending = [...points].sort((a, b) => a.goodputRps.mean - b.goodputRps.mean);
  const [low, high] = [ascending[0], ascending[ascending.length - 1]].map((point) => {
    const rate = `${formatRate(Number((point?.goodputRps.mean ?? 0).toPrecision(3)))} req/s`;
    const where = valuesLabel(point?.values ?? {});
    return where === '' ? rate : `${rate} at ${where}`;
  });
  const title = points.length === 1 ? `Goodput ${high}` : `Goodput up to ${high}`;
  const reason =
    points.length === 1
      ? `${formatPercent((points[0] as (typeof points)[0]).sloAttainment.mean)} of the offered requests were answered within their objective.`
      : `The lowest is ${low}. Nothing that an operator chooses was varied, so there is nothing to recommend: vary a policy or cluster key, e.g. policy.scheduleAhead.`;
  return { title, reason };
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
