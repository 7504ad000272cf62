import type { FailedCell, SweepResults } from '../../record/results.js';
import { checkThreshold, parseThreshold } from '../../record/threshold.js';
import { FLEET_TARGET } from '../fleets.js';
import { groupBy } from '../lists.js';
import { estimateOf, type Sample, scaledSample } from '../statistics.js';
import { type Axis, sweepAxes } from './axes.js';
import { type Standing, standingOf } from './best.js';
import { aggregate, type Point, scoreOf, scoresOf, sortPoints } from './points.js';

/** The value to choose under given conditions, e.g. the best schedule_ahead at one SLO. */
export interface Recommendation {
  /** Values of the given keys: SLO, workload. Empty if only choices were varied. */
  readonly conditions: Readonly<Record<string, string>>;
  /** Values of the keys that can be chosen. */
  readonly choice: Readonly<Record<string, string>>;
  /** All choices under these conditions, the default and the best included. */
  readonly points: readonly Point[];
  readonly best: Point;
  /** Other choices indistinguishable from it: see `standingOf`. */
  readonly tied: readonly Point[];
  /** Point at the same conditions with every choice at its default; null if the sweep did not run that. */
  readonly default: Point | null;
  /** Score of the best ÷ that of the default; Infinity if the default's is 0; null without a default, and by price. */
  readonly improvement: number | null;
  readonly ranking: Ranking;
  /** Choice with the lowest score. */
  readonly poorest: Point;
}

/**
 * Criterion of a decision: the score; or, if fleets with prices were varied, the price per hour among those that meet the
 * requirements, and the price of a million requests in time if none does.
 */
type Ranking = 'score' | 'hour' | 'million';

/** One choice for all conditions. */
export interface CommonChoice {
  readonly choice: Readonly<Record<string, string>>;
  /** Smallest score over all conditions, relative to the highest of each. */
  readonly worstShare: number;
  /** One entry per recommendation, in the same order; null if that cell failed. */
  readonly points: readonly (Point | null)[];
}

export function failedCells(results: SweepResults): FailedCell[] {
  return results.cells.filter((cell) => cell.status === 'failed');
}

/** Selects points of which every run meets the sweep's thresholds; without thresholds, all do. */
export function requirementOf({ required = [] }: SweepResults): (point: Point) => boolean {
  const thresholds = required.map((text) => parseThreshold(text));
  return ({ cells }) =>
    thresholds.every((threshold) =>
      cells.every(({ result }) => checkThreshold(threshold, result.summary).ok),
    );
}

/**
 * For each combination of conditions the choice with the highest score (see `scoreOf` and `standingOf`). Of equal
 * scores, the common choice is taken, because one setting is easier to deploy than several, else the default, because a
 * change needs a reason, else the smaller value, which holds work back least (the first varied key decides first; names
 * rank in the order of the sweep). If some choices meet the sweep's thresholds, only those count. If the choices are
 * fleets with prices, the cheapest that meets them, or answers 99 % in time without any. Empty if the sweep varied
 * nothing that can be chosen.
 */
export function recommend(results: SweepResults): Recommendation[] {
  const { groups, common, choices } = analyse(results);
  const keys = choices.map(({ key }) => key);
  return groups.map(({ points, standing, ranking }, i) => {
    const all = [standing.best, ...standing.tied];
    const usual = points.find((point) => isDefault(point, choices)) ?? null;
    const { equal } = standing;
    const best =
      equal.find((point) => point === common?.points[i]) ??
      equal.find((point) => point === usual) ??
      standing.best;
    return {
      conditions: pick(best, (key) => !keys.includes(key)),
      choice: pick(best, (key) => keys.includes(key)),
      points,
      best,
      tied: all.filter((point) => point !== best),
      default: usual,
      improvement: usual === null || ranking !== 'score' ? null : ratio(scoreOf(best), scoreOf(usual)),
      ranking,
      poorest: points.reduce((poorest, point) => (scoreOf(point) < scoreOf(poorest) ? point : poorest)),
    };
  });
}

/**
 * The one choice that loses least against the best of each condition, at the condition where it loses most: the one to
 * deploy if one setting must serve every SLO. Ties are broken as within a condition. `recommendations` are those of
 * `results`; null with fewer than two.
 */
export function commonChoice(
  results: SweepResults,
  recommendations: readonly Recommendation[],
): CommonChoice | null {
  return recommendations.length < 2 ? null : analyse(results).common;
}

/**
 * The recommendation with most at stake: the largest gain over its default, or, if groups are compared, the most to
 * lose; by price, one that does what is required. The first one if no default was run.
 */
export function headline(recommendations: readonly Recommendation[]): Recommendation | null {
  let found: Recommendation | null = recommendations[0] ?? null;
  for (const candidate of recommendations) {
    if (found === null || stake(candidate) > stake(found)) found = candidate;
  }
  return found;
}

/** Choices of one condition. */
interface Group {
  readonly points: readonly Point[];
  /** Those that meet the sweep's thresholds, or all if none does. */
  readonly eligible: readonly Point[];
  /** Samples by which they are ranked. */
  readonly samplesOf: (point: Point) => readonly Sample[];
  readonly standing: Standing<Point>;
  readonly ranking: Recommendation['ranking'];
}

interface Analysis {
  readonly groups: readonly Group[];
  /** Keys that can be chosen. */
  readonly choices: readonly Axis[];
  readonly common: CommonChoice | null;
}

/** Cache, since pages ask for the same sweep again and again. */
const KNOWN = new WeakMap<SweepResults, Analysis>();

function analyse(results: SweepResults): Analysis {
  const known = KNOWN.get(results);
  if (known !== undefined) return known;
  const priced = pricedFleetKeys(results);
  const axes = sweepAxes(results);
  const choices = axes.filter(({ key, isChoice }) => isChoice || priced.includes(key));
  const givens = axes.filter((axis) => !choices.includes(axis));
  const ascending = sortPoints(aggregate(results), [...givens, ...choices]);
  const conditionsOf = ({ values }: Point) => JSON.stringify(givens.map(({ key }) => values[key]));
  const required = requirementOf(results);
  const isServed = ({ attainment }: Point) => (attainment?.mean ?? -1) >= FLEET_TARGET;
  const meets = priced.length > 0 && results.required === undefined ? isServed : required;
  const groupOf = (points: readonly Point[]): Group => {
    const meeting = points.filter(meets);
    const eligible = meeting.length > 0 ? meeting : points;
    const ranking = priced.length === 0 ? 'score' : meeting.length > 0 ? 'hour' : 'million';
    const samplesOf = (point: Point) =>
      ranking === 'score' ? scoresOf(point) : [cheapness(point, ranking), ...scoresOf(point)];
    return { points, eligible, ranking, samplesOf, standing: standingOf(eligible, samplesOf) };
  };
  const groups = choices.length === 0 ? [] : [...groupBy(ascending, conditionsOf).values()].map(groupOf);
  const common = groups.length < 2 ? null : commonOf(groups, choices);
  const analysis = { groups, choices, common };
  KNOWN.set(results, analysis);
  return analysis;
}

/** Keys of a sweep that change the GPUs, if all fleets have a price and no scaler; else none. */
function pricedFleetKeys(results: SweepResults): string[] {
  const points = aggregate(results);
  const hasPrice = ({ cost, cells }: Point) =>
    cost !== null && cells.every(({ result }) => result.summary.scaling === undefined);
  if (!points.every(hasPrice)) return [];
  return sweepAxes(results)
    .map(({ key }) => key)
    .filter((key) => {
      const same = groupBy(points, (point) => JSON.stringify(pick(point, (other) => other !== key)));
      return [...same.values()].some((members) => new Set(members.map(fleetOf)).size > 1);
    });
}

function fleetOf({ cells }: Point): string {
  const kinds = cells[0]?.result.summary.by.kind ?? [];
  return JSON.stringify(kinds.filter(({ gpus }) => gpus > 0).map(({ key, gpus }) => [key, gpus]));
}

/** Millions or hours for one unit of money; 0 if nothing was answered in time. */
function cheapness({ cost }: Point, ranking: 'hour' | 'million'): Sample {
  const price = (ranking === 'hour' ? cost?.perHour : cost?.perMillionInTime) ?? Number.POSITIVE_INFINITY;
  return { bySeed: { all: 1 / price } };
}

function pick({ values }: Pick<Point, 'values'>, wanted: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => wanted(key)));
}

function commonOf(groups: readonly Group[], choices: readonly Axis[]): CommonChoice | null {
  const keys = choices.map(({ key }) => key);
  const choiceOf = (point: Point) => pick(point, (key) => keys.includes(key));
  const scoreIn = ({ samplesOf }: Group, point: Point) => estimateOf(samplesOf(point)[0]!).mean;
  const highest = groups.map((group) => Math.max(...group.eligible.map((point) => scoreIn(group, point))));
  const sorted = sortPoints(
    groups.flatMap(({ points }) => points),
    choices,
  );
  const all = [...groupBy(sorted, (point) => JSON.stringify(choiceOf(point))).values()].map((members) => {
    const points = groups.map(({ points: here }) => here.find((point) => members.includes(point)) ?? null);
    const shares = points.map((point, i) =>
      point === null ? 0 : ratio(scoreIn(groups[i]!, point), highest[i]!),
    );
    const worstShare = Math.min(...shares);
    const unbeaten = groups.filter(({ standing: { best, tied } }, i) => [best, ...tied].includes(points[i]!));
    return {
      choice: choiceOf(members[0]!),
      points,
      worstShare,
      // Of choices that lose as little, the one that ties with the best at more conditions.
      scores: [
        sharesOf(points, groups, highest, shares.indexOf(worstShare)),
        { bySeed: { conditions: unbeaten.length } },
      ],
    };
  });
  const isEligible = (point: Point | null, i: number) =>
    point !== null && groups[i]!.eligible.includes(point);
  const counts = all.map(({ points }) => points.filter(isEligible).length);
  const most = Math.max(...counts);
  const rows = all.filter((_, i) => counts[i] === most);
  // A fleet must do what is required under every condition.
  if (groups.some(({ ranking }) => ranking === 'million' || (ranking === 'hour' && most < groups.length)))
    return null;
  const { best, equal } = standingOf(rows, ({ scores }) => scores);
  const usual = equal.find(({ points }) =>
    points.some((point) => point !== null && isDefault(point, choices)),
  );
  const { choice, points, worstShare } = usual ?? best;
  return { choice, points, worstShare };
}

/** Shares of each seed at the condition where a choice does worst; 0 if it has no run there. */
function sharesOf(
  points: readonly (Point | null)[],
  groups: readonly Group[],
  highest: readonly number[],
  worst: number,
): Sample {
  const point = points[worst];
  if (point == null) {
    const seeds = points.flatMap((other) => other?.cells.map(({ seed }) => seed) ?? []);
    return { bySeed: Object.fromEntries(seeds.map((seed) => [seed, 0])) };
  }
  const [scores] = groups[worst]!.samplesOf(point);
  const most = highest[worst]!;
  // If the highest is 0, every share of it is 1.
  return most === 0
    ? { bySeed: Object.fromEntries(Object.keys(scores!.bySeed).map((seed) => [seed, 1])) }
    : scaledSample(scores!, 1 / most);
}

function isDefault({ values }: Point, choices: readonly Axis[]): boolean {
  return choices.every(({ key, default: usual }) => values[key] === undefined || values[key] === usual?.text);
}

function stake({ best, poorest, improvement, ranking }: Recommendation): number {
  if (ranking !== 'score') return ranking === 'hour' ? 1 : 0;
  return best.groups.length > 0 ? ratio(scoreOf(best), scoreOf(poorest)) : (improvement ?? 0);
}

function ratio(value: number, base: number): number {
  return base === 0 ? (value === 0 ? 1 : Number.POSITIVE_INFINITY) : value / base;
}
