import type { FailedCell, SweepResults } from '../../record/results.js';
import { checkThreshold, parseThreshold } from '../../record/threshold.js';
import { groupBy } from '../lists.js';
import { estimateOf, type Sample, scaledSample } from '../statistics.js';
import {
  type Axis,
  aggregate,
  type Point,
  type Standing,
  scoreOf,
  scoresOf,
  sortPoints,
  standingOf,
  sweepAxes,
} from './points.js';

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
  /** Score of the best ÷ that of the default; Infinity if the default's is 0; null without a default, or by price. */
  readonly improvement: number | null;
  readonly ranking: Ranking;
  /** Choice with the lowest score. */
  readonly poorest: Point;
}

/** Criterion of a decision: the score; if fleets were varied, the price of those that do what is required, if any do. */
type Ranking = 'score' | 'price' | 'missed';

/** Share of the requests that a fleet must answer in time, unless thresholds are given. */
export const FLEET_TARGET = 0.99;

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
 * fleets of which it is known what was paid, the cheapest that meets them, or answers 99 % in time without any. Empty if the sweep varied
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
      improvement: usual === null || ranking === 'price' ? null : ratio(scoreOf(best), scoreOf(usual)),
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
  const priceOf = pricesOf(results);
  const priced = priceOf === null ? [] : fleetKeys(results);
  const axes = sweepAxes(results);
  const choices = axes.filter(({ key, isChoice }) => isChoice || priced.includes(key));
  const givens = axes.filter((axis) => !choices.includes(axis));
  const ascending = sortPoints(aggregate(results), [...givens, ...choices]);
  const conditionsOf = ({ values }: Point) => JSON.stringify(givens.map(({ key }) => values[key]));
  const required = requirementOf(results);
  const isServed = ({ attainment }: Point) => (attainment?.mean ?? -1) >= FLEET_TARGET;
  const meets = priced.length > 0 && results.required === undefined ? isServed : required;
  const groupOf = (points: readonly Point[]): Group => {
    const real = points.filter((point) => scalerOf(point) !== CLAIRVOYANT);
    const meeting = real.filter(meets);
    const eligible = [meeting, real, points].find(({ length }) => length > 0)!;
    const ranking = priced.length === 0 ? 'score' : meeting.length > 0 ? 'price' : 'missed';
    const samplesOf = (point: Point) =>
      ranking === 'price' ? [{ bySeed: { all: 1 / priceOf!(point) } }, ...scoresOf(point)] : scoresOf(point);
    return { points, eligible, ranking, samplesOf, standing: standingOf(eligible, samplesOf) };
  };
  const groups = choices.length === 0 ? [] : [...groupBy(ascending, conditionsOf).values()].map(groupOf);
  const common = groups.length < 2 ? null : commonOf(groups, choices);
  const analysis = { groups, choices, common };
  KNOWN.set(results, analysis);
  return analysis;
}

/** Name of the scaler that knows the future, which no real one can. */
const CLAIRVOYANT = 'clairvoyant';

/** Price of a point per hour, or its GPU-hours if a scaler decides them and not all GPUs have prices; null: not known. */
function pricesOf(results: SweepResults): ((point: Point) => number) | null {
  const points = aggregate(results);
  if (points.every(({ cost }) => cost !== null)) return ({ cost }) => cost!.perHour;
  const isKnown = points.every(({ gpuHours }) => gpuHours !== null);
  return isKnown && points.some((point) => scalerOf(point) !== null) ? ({ gpuHours }) => gpuHours! : null;
}

/** Keys of a sweep that change the GPUs or their scaler. */
function fleetKeys(results: SweepResults): string[] {
  return sweepAxes(results)
    .map(({ key }) => key)
    .filter((key) => {
      const same = groupBy(aggregate(results), (point) =>
        JSON.stringify(pick(point, (other) => other !== key)),
      );
      return [...same.values()].some((members) => new Set(members.map(fleetOf)).size > 1);
    });
}

function fleetOf(point: Point): string {
  const kinds = point.cells[0]?.result.summary.by.kind ?? [];
  const scaler = scalerOf(point);
  return scaler ?? JSON.stringify(kinds.filter(({ gpus }) => gpus > 0).map(({ key, gpus }) => [key, gpus]));
}

function scalerOf({ cells }: Point): string | null {
  return cells[0]?.result.summary.scaling?.scaler ?? null;
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
  if (groups.some(({ ranking }) => ranking === 'missed' || (ranking === 'price' && most < groups.length)))
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
  if (ranking !== 'score') return ranking === 'price' ? 1 : 0;
  return best.groups.length > 0 ? ratio(scoreOf(best), scoreOf(poorest)) : (improvement ?? 0);
}

function ratio(value: number, base: number): number {
  return base === 0 ? (value === 0 ? 1 : Number.POSITIVE_INFINITY) : value / base;
}
