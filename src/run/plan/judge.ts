import { type FigureUnit, figureOf, partOf, partOfFigure } from '../../record/figures.js';
import type { CellResult } from '../../record/results.js';
import { checkThreshold, coverageOf, holds, parseThreshold, type Threshold } from '../../record/threshold.js';
import {
  clipped,
  type Estimate,
  estimate,
  estimateOf,
  fewestWithin,
  influencesOf,
  intervalText,
  meanOf,
  ofRequests,
  slicedFigure,
  studentTail,
} from '../../report/statistics.js';
import { significant } from '../../text/numbers.js';
import { plural } from '../../text/words.js';

/** A target's figure at one value of the planned key, over all seeds. */
export interface TargetFigure {
  /**
   * One per seed, in the target's unit; null: nothing to measure; Infinity (null in JSON): a latency that falls on a
   * request that was not answered in time.
   */
  readonly values: readonly (number | null)[];
  /** null if a seed has no such figure. */
  readonly estimate: Estimate | null;
  /**
   * `yes`: the whole 95 % confidence interval of the mean is within the limit. `unsure`: the mean is, its interval is
   * not. If the precision of the mean is not known, it decides alone.
   */
  readonly meets: Verdict;
  /**
   * Distance of the interval's deciding end from the limit, in the target's unit; negative beyond it; null if unknown.
   */
  readonly margin: number | null;
  /**
   * Without a figure, the reason. For a figure of models, the number assessed, of the seed with the fewest. For a share
   * without a miss that is not sure, the number of requests that would do. Else null.
   */
  readonly about: string | null;
  /** For a share of requests, their number in independent runs, which bounds its precision; null: another figure. */
  readonly requests: number | null;
}

export type Verdict = 'yes' | 'unsure' | 'no';

type JudgedRun = Pick<CellResult, 'summary' | 'slices'>;

/** Parses a `--target`, which is a threshold on the mean over the seeds. Throws `E_USAGE`. */
export function parseTarget(text: string): Threshold {
  return parseThreshold(text, 'target');
}

/** Figures shown in addition to the targets'. Their limits only set the number of digits. */
export const ASIDE = {
  attainment: parseTarget('attainment>=99.9%'),
  goodputRps: parseTarget('goodputRps>=100'),
  p99: parseTarget('p99<=100ms'),
} as const;

/** Judges the repetitions of one value by a target. */
export function judge(target: Threshold, results: readonly JudgedRun[]): TargetFigure {
  const found = results.map(({ summary }) => checkThreshold(target, summary));
  const values = found.map(({ actual }) => actual);
  const reason = found.find(({ actual }) => actual === null)?.measured ?? leastCoverage(target, results);
  if (!values.every(Number.isFinite))
    return { values, estimate: null, meets: 'no', margin: null, about: reason, requests: null };
  const spread = spreadOf(target, values as number[], results);
  // No number of requests would do for a limit of 0 or 100 %, which is one on these requests.
  const requests = target.limit > 0 && target.limit < 1 ? requestsOf(target, results) : null;
  const figure = requests === null ? spread : ofRequests(spread, requests);
  const bound = decidingEnd(target, figure);
  const meets = holds(target, bound) ? 'yes' : holds(target, figure.mean) ? 'unsure' : 'no';
  const margin = atLeast(target) ? bound - target.limit : target.limit - bound;
  const isPerfect = requests !== null && figure.mean === (atLeast(target) ? 1 : 0);
  const enough = fewestWithin(atLeast(target) ? 1 - target.limit : target.limit);
  const about =
    isPerfect && meets === 'unsure'
      ? `${plural(requests, 'request')}, and ${enough} without a miss would do`
      : reason;
  return { values, estimate: figure, meets, margin, about, requests };
}

/** Mean and interval over seeds and time slices. */
function spreadOf(target: Threshold, values: readonly number[], results: readonly JudgedRun[]): Estimate {
  const sliced = slicedFigure(target.metric);
  // Seeds that replay the same log say nothing about another stretch of it.
  if (sliced === null && isReplay(results)) return estimate([meanOf(values)]);
  const bySeed = Object.fromEntries(values.entries());
  const figure = estimateOf({ bySeed, ...(sliced === null ? {} : influencesOf(results, sliced)) });
  // A share ends at 0 and 1, which never changes a verdict.
  return clipped(figure, target.unit === 'share' ? 1 : undefined);
}

/** Requests behind a share of them: of all seeds, or of one that replays a log; null: the figure is another. */
function requestsOf({ metric, unit }: Threshold, results: readonly JudgedRun[]): number | null {
  const part = partOfFigure(metric);
  const figure = figureOf(metric)!;
  const isCount = unit === 'share' && figure.unit === 'count' && figure.ofAssessedModels !== true;
  if (!isCount && !/^(?:weightedA|a)ttainment$/.test(part?.figure ?? metric)) return null;
  const offered = results.map(({ summary }) => {
    const counted = part === null ? summary : partOf(summary, part.dimension, part.key);
    return counted?.requests.offered ?? 0;
  });
  return Math.round(meanOf(offered) * (isReplay(results) ? 1 : offered.length));
}

/** True if the runs replay a log, so that seeds are not independent samples. */
export function isReplay(results: readonly Pick<CellResult, 'slices'>[]): boolean {
  return results.some(({ slices }) => slices !== undefined);
}

/** Coverage of the seed with the smallest share of models assessed; null if the target is not of assessed models. */
function leastCoverage({ metric }: Threshold, results: readonly JudgedRun[]): string | null {
  const covered = results.flatMap(({ summary }) => coverageOf(metric, summary) ?? []);
  return covered.sort((a, b) => a.assessed - b.assessed)[0]?.text ?? null;
}

/** True if more is better. */
export function atLeast({ operator }: Pick<Threshold, 'operator'>): boolean {
  return operator === '>' || operator === '>=';
}

function decidingEnd(target: Threshold, { low, high }: Estimate): number {
  return atLeast(target) ? low : high;
}

/** Probability that an interval's deciding end is on the wrong side. */
const CHANCE = 0.025;

/** Degrees of freedom with which Student's t is as good as normal. */
const NORMAL = 1000;

/** True if an interval for `compared` figures at once (Bonferroni) is within the limit; null without a spread. */
export function isSure(
  target: Threshold,
  { estimate: figure, requests }: TargetFigure,
  compared: number,
): boolean | null {
  if (figure === null) return false;
  const { mean, sd, n } = figure;
  if (!isOverSeeds(figure)) return null;
  const distance = atLeast(target) ? mean - target.limit : target.limit - mean;
  if (distance < 0) return false;
  // Seeds that all give the same value show no spread to be sure by.
  if (sd === 0 && requests === null) return null;
  const bySeeds = sd === 0 ? 0 : studentTail((distance * Math.sqrt(n)) / sd, n - 1);
  const error = Math.sqrt((target.limit * (1 - target.limit)) / (requests ?? 1));
  const byCount = requests === null ? 0 : studentTail(distance / error, NORMAL);
  return compared * Math.max(bySeeds, byCount) <= CHANCE;
}

/** True if the interval is that of several seeds, or of their requests. */
export function isOverSeeds({ n, over }: Estimate): boolean {
  return n > 1 && (over === 'seeds' || over === 'requests');
}

/**
 * `99.93 % ± 0.02`, or `98.61 % (93.22 to 100.00)` if the interval ends at a limit of the figure; for a latency
 * `never`, or `never with 1 of 3 seeds`, if it falls on requests not answered in time; without a figure, the reason.
 */
export function estimateText(target: Threshold, { estimate: figure, values, about }: TargetFigure): string {
  if (figure === null) {
    const never = values.filter((value) => value === Number.POSITIVE_INFINITY).length;
    if (never === 0) return about ?? '–';
    return never === values.length ? 'never' : `never with ${never} of ${values.length} seeds`;
  }
  const part = (value: number) => scaled(target, value);
  return intervalText(figure, { mean: (value) => figureText(target, value), half: part, end: part });
}

/** A figure of a target with four digits or one more than the limit has: `99.93 %`, `12.4 ms`, `480.2/s`, `7`. */
export function figureText(target: Threshold, value: number): string {
  return scaled(target, value) + SUFFIX[target.unit];
}

/**
 * Distance of the deciding end: `its 95 % interval starts 0.02 pp above 99.9 %`, or `ends` for an upper limit; `0.02 pp
 * above 99.9 %` without an interval; empty without a figure.
 */
export function marginText(target: Threshold, { margin, estimate }: TargetFigure): string {
  if (margin === null || estimate === null) return '';
  const limit = `${significant(target.limit * scaleOf(target.unit), 12)}${SUFFIX[target.unit]}`;
  const unit = target.unit === 'share' ? ' pp' : SUFFIX[target.unit];
  const above = atLeast(target) === margin >= 0;
  const size = scaled(target, Math.abs(margin));
  const distance =
    Number(size) === 0 ? `at ${limit}` : `${size}${unit} ${above ? 'above' : 'below'} ${limit}`;
  const { over, low, high } = estimate;
  if (over === null || low === high) return distance;
  return `its 95 % interval ${atLeast(target) ? 'starts' : 'ends'} ${distance}`;
}

const SUFFIX: Readonly<Record<FigureUnit, string>> = {
  share: ' %',
  ms: ' ms',
  perSecond: '/s',
  count: '',
  hours: ' h',
  price: '',
};

function scaled(target: Threshold, value: number): string {
  return (value * scaleOf(target.unit)).toFixed(decimalsOf(target));
}

function scaleOf(unit: FigureUnit): number {
  return unit === 'share' ? 100 : 1;
}

function decimalsOf({ limit, unit }: Threshold): number {
  const shown = significant(limit * scaleOf(unit), 12);
  const own = /\.(\d+)$/.exec(String(shown))?.[1]?.length ?? 0;
  const fourDigits = shown > 0 ? 3 - Math.floor(Math.log10(shown)) : 0;
  return Math.min(8, Math.max(own + 1, fourDigits, 0));
}
