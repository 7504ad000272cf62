import type { SweepResults } from '../../record/results.js';
import { formatPercent, formatRate, significant } from '../../text/numbers.js';
import { capital } from '../../text/words.js';
import { costTexts } from '../cost-text.js';
import { takeFleet } from '../fleet-label.js';
import { fleetAnswer } from '../fleet-text.js';
import { keyLabel, valueLabel, valuesLabel } from '../quantity.js';
import { ONE_SAMPLE } from '../statistics.js';
import {
  type CommonChoice,
  commonChoice,
  headline,
  nothingFrom,
  type Recommendation,
  recommend,
} from './analyze.js';
import { bestCaseText } from './best-case.js';
import { choiceLabel, choicesLabel, comparison, groupsAgainst, servedGroups } from './finding.js';
import { sweptFleets } from './fleets.js';
import { aggregate, measureOf, type Point, scoreName, scoreOf, worstGroup } from './points.js';
import { cheapestFleet } from './priced.js';
import { requiredText, requirementOf } from './required.js';
import { starvedText } from './starved.js';

/** With fewer seeds, confidence intervals are wide. */
const ENOUGH_SEEDS = 3;

/** Advice and its reasons, in words computed from the data. */
interface Verdict {
  readonly title: string;
  readonly reason: string;
}

/**
 * A sweep's conclusion: the value to deploy if there were choices, else the range of goodput. All statements about a
 * choice come from the recommendations, so that sentences and tables cannot name different ones.
 */
export function verdict(results: SweepResults): Verdict {
  const special = nothingWorks(results) ?? fleetsAnswer(results);
  if (special !== null) return special;
  const recommendations = recommend(results);
  const top = headline(recommendations);
  if (top === null) return withoutChoice(results);
  const common = commonChoice(results, recommendations);
  if (top.ranking !== 'score') return cheapest(results, recommendations, common);
  const choice = common?.choice ?? top.choice;
  const isDefault = recommendations.some(
    ({ default: usual }) => JSON.stringify(usual?.choice) === JSON.stringify(choice),
  );
  const points = aggregate(results);
  const meeting = points.filter(requirementOf(results));
  const chosen = common?.points ?? [top.best];
  const some = meeting.length > 0;
  const title = some
    ? `${isDefault ? 'Keep' : 'Deploy'} ${assignment(choice)}`
    : `No choice meets ${requiredText(results)}`;
  const sentences = [
    some ? '' : `Without that, it would be ${assignment(choice)}.`,
    starvedText(chosen),
    some ? requirementText(results, chosen, recommendations) : '',
    ...(common === null
      ? [`${resultOf(top, top.best)}.`]
      : [
          everywhere(common, recommendations),
          commonTie(common),
          atStake(top, common.points[recommendations.indexOf(top)] ?? null),
        ]),
    sampleText(results),
  ];
  return { title, reason: sentences.filter((sentence) => sentence !== '').join(' ') };
}

/** The cheapest choice in a sweep of fleets with prices. */
function cheapest(
  results: SweepResults,
  recommendations: readonly Recommendation[],
  common: CommonChoice | null,
): Verdict {
  const { title, reason } = cheapestFleet(results)!;
  const several = new Set(recommendations.map(({ choice }) => choiceLabel(choice))).size > 1;
  const sentences = [reason, several && common !== null ? commonPrice(common) : '', sampleText(results)];
  return { title, reason: sentences.filter((sentence) => sentence !== '').join(' ') };
}

function commonPrice({ choice, points }: CommonChoice): string {
  return `One for all of them: ${choiceLabel(choice)}, ${costTexts(points[0]!.cost)[0]} per hour.`;
}

/** The cheapest fleet in a sweep of scalers; null without a scaler. */
function fleetsAnswer(results: SweepResults): Verdict | null {
  const answer = fleetAnswer(sweptFleets(results));
  if (answer === null) return null;
  return { title: answer.title, reason: answer.reason === '' ? '' : `${capital(answer.reason)}.` };
}

/** Verdict on a sweep in which no request was answered in time; null if some were. */
function nothingWorks(results: SweepResults): Verdict | null {
  const nothing = nothingFrom(results);
  if (nothing === null) return null;
  return nothing === 'offered'
    ? {
        title: 'Nothing was offered',
        reason:
          'No request arrived during the measured time of any run, so there is nothing to recommend: raise the rate or the duration, or shorten the warm-up.',
      }
    : {
        title: 'Nothing was served in time',
        reason:
          'No run answered any request within its SLO, so there is nothing to recommend: allow more time, send less, or use more GPUs.',
      };
}

/** Conditions where the choice misses the thresholds, and whether another choice meets them there. */
function requirementText(
  results: SweepResults,
  chosen: readonly (Point | null)[],
  recommendations: readonly Recommendation[],
): string {
  const required = requiredText(results);
  if (required === '') return '';
  const meets = requirementOf(results);
  const missed = chosen.flatMap((point, i) => {
    if (point !== null && meets(point)) return [];
    const { best, conditions } = recommendations[i]!;
    const place = valuesLabel(conditions);
    return `${place === '' ? '' : `at ${place}, `}where ${meets(best) ? choiceLabel(best.choice) : 'no choice'} does`;
  });
  if (missed.length === 0) return `Only choices that meet ${required} are considered.`;
  return `It does not meet ${required} ${missed.join('; ')}.`;
}

/** Results of the common choice over all conditions. */
function everywhere(common: CommonChoice, recommendations: readonly Recommendation[]): string {
  const name = conditionName(recommendations);
  const measure = isGrouped(recommendations) ? measureOf(recommendations[0]!.best) : 'goodput';
  if (recommendations.every(({ best }, i) => best === common.points[i])) {
    return `It has the highest ${measure} at every tested ${name}.`;
  }
  const loss = formatPercent(1 - common.worstShare);
  return `One choice for every tested ${name}: at most ${loss} below the highest ${measure} at any of them.`;
}

/** Limits of the repetitions. */
function sampleText(results: SweepResults): string {
  const { length } = results.seeds;
  if (aggregate(results).every((point) => point.isOneSample)) return `Each run is ${ONE_SAMPLE}.`;
  if (length >= ENOUGH_SEEDS) return '';
  return `${length === 1 ? 'One seed' : 'Two seeds'}: repeat with --seeds 1,2,3,4,5 to see how much the figures vary.`;
}

function commonTie({ tied }: CommonChoice): string {
  if (tied.length === 0) return '';
  return `Over all of them it ties with ${choicesLabel(tied.map((choice) => ({ choice })))}.`;
}

/** Results of the common choice where most depends on it, and a better choice there. */
function atStake(top: Recommendation, point: Point | null): string {
  const matters = top.best.groups.length > 0 || (top.improvement !== null && top.improvement >= 1.005);
  if (!matters || point === null) return '';
  const better =
    point === top.best ? '' : `; the best there is ${choiceLabel(top.choice)}, ${scoreText(top.best)}`;
  return `The largest difference is at ${valuesLabel(top.conditions)}: ${resultOf(top, point)}${better}.`;
}

/** `5 ms gives 364 req/s within the SLO (60.3 % of the offered), 7.0× the default (10 ms)`. */
function resultOf(recommendation: Recommendation, point: Point): string {
  const { best, tied } = recommendation;
  if (best.groups.length > 0) {
    return groupsAgainst({ ...recommendation, best: point, tied: point === best ? tied : [] }).join('; ');
  }
  const against = comparison(recommendation, point);
  const result = `${scoreText(point)} within the SLO (${formatPercent(point.attainment?.mean ?? null)} of the offered)`;
  const tie = point === best && tied.length > 0 ? `; ${tieText(best, tied)}` : '';
  return `${choiceLabel(point.choice)} gives ${result}${against === '' ? '' : `, ${against}`}${tie}`;
}

/** `it ties with shepherd (464 req/s)`. */
function tieText(best: Point, tied: readonly Point[]): string {
  const [only] = tied;
  if (tied.length > 1 || only === undefined) return `it ties with ${choicesLabel(tied)}`;
  return scoreText(only) === scoreText(best)
    ? `it ties with ${choiceLabel(only.choice)}`
    : `it ties with ${choiceLabel(only.choice)} (${scoreText(only)})`;
}

function scoreText(point: Point): string {
  if (point.groups.length > 0) return servedGroups(point);
  return `${formatRate(significant(point.goodputRps!.mean, 4))} req/s`;
}

function withoutChoice(results: SweepResults): Verdict {
  const points = aggregate(results);
  const [first] = points;
  if (first === undefined)
    return { title: 'No run finished', reason: 'Every cell failed; the reasons are listed below.' };
  const ascending = [...points].sort((a, b) => scoreOf(a) - scoreOf(b));
  const [low, high] = [ascending[0] as Point, ascending[ascending.length - 1] as Point].map(scoreAt);
  const measure = scoreName(first);
  if (points.length === 1) {
    const reason =
      first.attainment === null
        ? 'No request arrived in the measured time.'
        : `${formatPercent(first.attainment.mean)} of the offered requests were answered within their SLO.`;
    return { title: `${measure} ${high}`, reason };
  }
  const least = cheapestFleet(results);
  if (least !== null) return least;
  const cases = bestCaseText(results);
  if (cases !== '') return { title: `${measure} up to ${high}`, reason: `${cases} The lowest is ${low}.` };
  return {
    title: `${measure} up to ${high}`,
    reason: `The lowest is ${low}. No setting that an operator chooses was varied, so there is nothing to recommend: vary a policy or cluster key, e.g. policy.scheduleAhead.`,
  };
}

/** `364 req/s at SLO 10 ms`; of groups the worst-served one, `28 % of interactive in time at SLO 10 ms`. */
function scoreAt(point: Point): string {
  const worst = worstGroup(point);
  const { weighted } = point;
  if (weighted !== null) {
    const by = `${formatPercent(weighted.mean)} of the weight`;
    const at = valuesLabel(point.values);
    return at === '' ? by : `${by} at ${at}`;
  }
  const score =
    worst === null
      ? `${formatRate(significant(scoreOf(point), 3))} req/s`
      : `${formatPercent(worst.attainment.mean)} of ${worst.name} in time`;
  const place = valuesLabel(point.values);
  return place === '' ? score : `${score} at ${place}`;
}

function assignment(choice: Readonly<Record<string, string>>): string {
  const { fleet, others } = takeFleet(choice);
  const parts = Object.entries(others).map(([key, value]) => `${keyLabel(key)} = ${valueLabel(value)}`);
  return [...(fleet === null ? [] : [fleet]), ...parts].join(', ');
}

function conditionName(recommendations: readonly Recommendation[]): string {
  const keys = Object.keys(recommendations[0]?.conditions ?? {});
  return keys.length === 1 ? keyLabel(keys[0] as string) : 'condition';
}

function isGrouped(recommendations: readonly Recommendation[]): boolean {
  return recommendations.some(({ best }) => best.groups.length > 0);
}
