import { type PartFigure, partOfFigure } from '../record/figures.js';
import type { CellResult, RunResult, RunSlices } from '../record/results.js';
import { formatPercent, formatPercentCell, formatRate, round3, significant } from '../text/numbers.js';

/** A figure with its precision, if known. */
export interface Estimate {
  /** Number of repetitions. */
  readonly n: number;
  /** Mean over them. */
  readonly mean: number;
  /** Sample standard deviation over them; 0 for one. */
  readonly sd: number;
  /** Ends of its 95 % confidence interval; equal to the mean if its precision is not known. */
  readonly low: number;
  readonly high: number;
  /**
   * Source of the interval: several seeds, or time slices of the runs, or the number of their requests. Null: there is
   * one run, and it has no slices, they do not differ, or they do not determine the figure.
   */
  readonly over: 'seeds' | 'slices' | 'requests' | null;
}

/** Values of a figure by seed, and, in runs with time slices, its contributions over time. */
export interface Sample {
  readonly bySeed: Readonly<Record<string, number>>;
  /**
   * Influence of each time slice, mean over the seeds: the figure is its mean plus the mean of these, which is 0. Absent
   * if the runs have no slices, or these do not determine the figure.
   */
  readonly influences?: readonly number[];
}

/** Two-sided 95 % quantile of the normal distribution. */
const Z_95 = 1.959964;
/** Two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom (any statistics table). */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** Probability that Student's t of integer degrees of freedom exceeds `t` (Abramowitz and Stegun 26.7.3 and 26.7.4). */
export function studentTail(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? sine * cosine : sine;
  let sum = freedom === 1 ? 0 : term;
  for (let i = isOdd ? 3 : 2; i < freedom; i += 2) {
    term *= ((i - 1) / i) * cosine ** 2;
    sum += term;
  }
  const within = isOdd ? (2 / Math.PI) * (angle + sum) : sum;
  return (1 - within) / 2;
}

/** Mean and confidence interval over repetitions. `values` must not be empty. */
export function estimate(values: readonly number[]): Estimate {
  return estimateOf({ bySeed: Object.fromEntries(values.entries()) });
}

/**
 * Mean and confidence interval: the wider of that over seeds by Student's t and that over time slices, since seeds that
 * replay the same log say nothing about another stretch of it. At least one value.
 */
export function estimateOf({ bySeed, influences = [] }: Sample): Estimate {
  const values = Object.values(bySeed);
  const n = values.length;
  const mean = meanOf(values);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, n - 1);
  const seedHalf = n === 1 ? 0 : studentT95(n - 1) * Math.sqrt(variance / n);
  const sliceHalf = blockBootstrapHalf(influences);
  const half = Math.max(seedHalf, sliceHalf);
  const over = sliceHalf > seedHalf ? 'slices' : n > 1 ? 'seeds' : null;
  return { n, mean, sd: Math.sqrt(variance), low: mean - half, high: mean + half, over };
}

/**
 * A share of requests with an interval that is at least as wide, at both ends, as Wilson's for so many independent ones:
 * seeds and time slices that agree by chance, such as those without a miss, show too little spread.
 */
export function ofRequests(share: Estimate, requests: number): Estimate {
  const [low, high] = wilson95(share.mean, requests);
  const over = high - low > share.high - share.low ? 'requests' : share.over;
  return { ...share, low: Math.min(low, share.low), high: Math.max(high, share.high), over };
}

/** Ends of the 95 % confidence interval of a share of independent requests (Wilson 1927). */
function wilson95(share: number, requests: number): readonly [number, number] {
  const extra = Z_95 ** 2 / requests;
  const center = share + extra / 2;
  const half = Math.sqrt(extra * share * (1 - share) + extra ** 2 / 4);
  return [Math.max(0, (center - half) / (1 + extra)), Math.min(1, (center + half) / (1 + extra))];
}

/** The fewest requests whose interval reaches no further than `distance` if the share is 0 or 1. */
export function fewestWithin(distance: number): number {
  return Math.ceil((Z_95 ** 2 * (1 - distance)) / distance);
}

/** Excess of `a` over `b`, seed by seed and, where both have slices, slice by slice; null without anything in common. */
export function differenceOf(a: Sample, b: Sample): Estimate | null {
  if ((a.influences === undefined) !== (b.influences === undefined)) return null;
  const common = Object.keys(a.bySeed).filter((seed) => b.bySeed[seed] !== undefined);
  if (common.length === 0) return null;
  const bySeed = Object.fromEntries(common.map((seed) => [seed, a.bySeed[seed]! - b.bySeed[seed]!]));
  if (a.influences === undefined || b.influences === undefined) return estimateOf({ bySeed });
  if (a.influences.length !== b.influences.length) return null;
  const others = b.influences;
  return estimateOf({ bySeed, influences: a.influences.map((value, i) => value - others[i]!) });
}

/** Sample of a figure multiplied by `factor`. */
export function scaledSample({ bySeed, influences }: Sample, factor: number): Sample {
  return {
    bySeed: Object.fromEntries(Object.entries(bySeed).map(([seed, value]) => [seed, value * factor])),
    ...(influences === undefined ? {} : { influences: influences.map((value) => value * factor) }),
  };
}

/** A figure that is a sum over requests: the number, or share, of those answered in time. */
export interface SlicedFigure {
  readonly of: 'attainment' | 'goodputRps';
  /** Selects the requests that count; absent: all do. */
  readonly isCounted?: (section: RunSlices['sections'][number], index: number) => boolean;
  /** True if each request counts by the weight of its class. */
  readonly weighted?: boolean;
}

type SlicedRun = Pick<RunResult | CellResult, 'slices'>;

/** Figure of the threshold metric `metric`; null if slices do not determine it. */
export function slicedFigure(metric: string): SlicedFigure | null {
  const part = partOfFigure(metric);
  return part === null ? (SLICED.get(metric) ?? null) : slicedPart(part);
}

/** Figure of a part; null if slices do not determine it. */
export function slicedPart({ dimension, key, figure: name }: PartFigure): SlicedFigure | null {
  const figure = SLICED.get(name);
  if (figure === undefined || !(dimension === 'group' || dimension === 'class' || dimension === 'tenant'))
    return null;
  return { ...figure, isCounted: (section) => section[dimension] === key };
}

const SLICED = new Map<string, SlicedFigure>([
  ['attainment', { of: 'attainment' }],
  ['goodputRps', { of: 'goodputRps' }],
  ['weightedAttainment', { of: 'attainment', weighted: true }],
  ['weightedGoodputRps', { of: 'goodputRps', weighted: true }],
]);

/**
 * Contributions of time slices to a figure, mean over runs that differ in their seed; empty if they have no slices, or if
 * nothing was offered.
 */
export function influencesOf(runs: readonly SlicedRun[], figure: SlicedFigure): Pick<Sample, 'influences'> {
  const all = runs.map(({ slices }) => (slices === undefined ? null : influencesOfOne(slices, figure)));
  const [first = null] = all;
  if (first === null || !all.every((one) => one?.length === first.length)) return {};
  return { influences: first.map((_, i) => meanOf(all.map((one) => one![i]!))) };
}

/** Null if nothing was offered. */
function influencesOfOne(
  slices: RunSlices,
  { of, isCounted = () => true, weighted = false }: SlicedFigure,
): readonly number[] | null {
  const counted = slices.sections.filter(isCounted);
  const total = (count: 'offered' | 'ok') =>
    slices.seconds.map((_, i) => sum(counted.map((each) => each[count][i]! * (weighted ? each.weight : 1))));
  const [ok, base] = [total('ok'), of === 'attainment' ? total('offered') : slices.seconds];
  const whole = sum(base);
  if (whole === 0) return null;
  const quotient = sum(ok) / whole;
  return ok.map((count, i) => ((count - quotient * base[i]!) * ok.length) / whole);
}

/** A figure of one run, by the name that thresholds use; without an interval unless its slices provide one. */
export function figureOfRun(run: SlicedRun, metric: string, value: number): Estimate {
  const figure = slicedFigure(metric);
  return estimateOf({ bySeed: { 1: value }, ...(figure === null ? {} : influencesOf([run], figure)) });
}

/** Share of one run's requests that were answered in time, for people: `98.2 ± 0.3 %`. */
export function attainmentText(run: SlicedRun & Pick<RunResult | CellResult, 'summary'>): string {
  const { attainment } = run.summary;
  return shareWithInterval(attainment === null ? null : figureOfRun(run, 'attainment', attainment));
}

/** Half of the 95 % confidence interval of the difference of a figure between two runs; null if not known. */
export function marginBetween(a: SlicedRun, b: SlicedRun, figure: SlicedFigure): number | null {
  const sample = (run: SlicedRun) => ({ bySeed: { 1: 0 }, ...influencesOf([run], figure) });
  const difference = differenceOf(sample(a), sample(b));
  return difference === null || difference.over === null ? null : difference.high;
}

/** Source of intervals, for people: `±: 95 % confidence over 3 seeds`. `figures`: with their intervals; null: unknown. */
export function certaintyText(seeds: number, figures: readonly (Pick<Estimate, 'over'> | null)[]): string {
  const over = new Set(figures.map((figure) => figure?.over));
  const sources = [
    ...(over.has('seeds') ? [`${seeds} seeds`] : []),
    ...(over.has('slices') ? ['time slices of the run'] : []),
    ...(over.has('requests') ? ['the number of requests'] : []),
  ];
  if (sources.length > 0) return `±: 95 % confidence over ${sources.join(' or ')}`;
  return seeds === 1 ? 'one seed: no confidence intervals' : 'no confidence intervals';
}

/** Note on a run that is one sample. */
export const ONE_SAMPLE = 'one sample: no seed changes it';

/** True if this is one sample, since no seed changes the run. */
export function isOneSample(runs: readonly Pick<SlicedRun, 'slices'>[]): boolean {
  return runs.length > 0 && runs.every(({ slices }) => slices?.oneSample === true);
}

/**
 * Half of the 95 % confidence interval of a mean over time slices, by the circular block bootstrap: the spread of the
 * mean over blocks of successive slices, drawn with replacement and joined to the length of the run. Its variance has a
 * closed form, so nothing is drawn. The factor is Student's t for as many values as there are blocks.
 */
export function blockBootstrapHalf(slices: readonly number[]): number {
  const n = slices.length;
  if (n < 4) return 0;
  const length = blockLength(slices);
  const mean = meanOf(slices);
  let block = 0;
  for (let i = 0; i < length; i++) block += slices[i]! - mean;
  let squares = 0;
  for (let i = 0; i < n; i++) {
    squares += block ** 2;
    block += slices[(i + length) % n]! - slices[i]!;
  }
  const standardError = Math.sqrt(squares / (n * n * length));
  return studentT95(Math.max(1, Math.floor(n / length) - 1)) * standardError;
}

/**
 * Slices per block: long enough to cover the dependence between slices. Twice the automatic choice of Politis and White
 * (2004, corrected 2009) for circular blocks, which uses the autocorrelations up to where they fade: the optimum for
 * the variance makes intervals a tenth too short.
 */
export function blockLength(slices: readonly number[]): number {
  const n = slices.length;
  const mean = meanOf(slices);
  const quiet = Math.max(5, Math.ceil(Math.sqrt(Math.log10(n))));
  const last = Math.ceil(Math.sqrt(n)) + quiet;
  const covariances = Array.from({ length: last + 1 }, (_, lag) => {
    let product = 0;
    for (let i = lag; i < n; i++) product += (slices[i]! - mean) * (slices[i - lag]! - mean);
    return product / n;
  });
  const [variance] = covariances as [number];
  if (variance === 0) return 1;
  const insignificant = 2 * Math.sqrt(Math.log10(n) / n) * variance;
  let fades = 1;
  for (let lag = 1, run = 0; lag < last && run < quiet; lag++) {
    run = Math.abs(covariances[lag]!) < insignificant ? run + 1 : 0;
    if (run === 0) fades = lag;
  }
  const width = Math.min(2 * fades, last);
  let [spectrum, slope] = [variance, 0];
  for (let lag = 1; lag <= width; lag++) {
    const taper = Math.min(1, 2 * (1 - lag / width)) * 2 * covariances[lag]!;
    spectrum += taper;
    slope += lag * taper;
  }
  const optimal = ((1.5 * slope ** 2) / spectrum ** 2) ** (1 / 3) * n ** (1 / 3);
  return Math.max(1, Math.min(Math.round(2 * optimal), Math.ceil(Math.min(3 * Math.sqrt(n), n / 3))));
}

/** An interval clipped to the possible values of a figure. */
export function clipped(figure: Estimate, most = Number.POSITIVE_INFINITY): Estimate {
  return {
    ...figure,
    low: Math.max(0, figure.low),
    high: Math.min(Math.max(most, figure.mean), figure.high),
  };
}

/** Formats of the parts of an interval. */
interface IntervalFormat {
  readonly mean: (value: number) => string;
  readonly half: (value: number) => string;
  readonly end: (value: number) => string;
  /** With the space before it; absent: none, or in `mean`. */
  readonly unit?: string;
}

/**
 * `480 ± 2.1`, or `98.6 (93.2 to 100.0)` if the interval is clipped; without an interval the mean, and also if all seeds
 * agree, from which no precision follows.
 */
export function intervalText({ mean, low, high, over }: Estimate, format: IntervalFormat): string {
  const { unit = '' } = format;
  if (over === null || low === high) return format.mean(mean) + unit;
  const [above, below] = [high - mean, mean - low].map((half) => {
    const text = format.half(half);
    // A value that rounds to 0 is not nothing.
    return half > 0 && Number(text) === 0 ? `<${text.replace(/0$/, '1')}` : text;
  });
  if (above === below) return `${format.mean(mean)} ± ${above}${unit}`;
  return `${format.mean(mean)}${unit} (${format.end(low)} to ${format.end(high)})`;
}

/** A rate with half the width of its confidence interval: `480 ± 2.1`; `–` if there is nothing to measure. */
export function withInterval(figure: Estimate | null): string {
  // Three digits only where the interval says that there are no more.
  if (figure === null || figure.over === null) return formatRate(figure?.mean ?? null);
  const mean = (value: number) => formatRate(round3(value));
  return intervalText(clipped(figure), {
    mean,
    end: mean,
    half: (value) => formatRate(significant(value, 2)),
  });
}

/** A share as a percentage: `94.2 ± 0.3 %`, `98.6 % (93.2 to 100.0)`; `–` if there is nothing to measure. */
export function shareWithInterval(figure: Estimate | null): string {
  if (figure === null || figure.over === null) return formatPercent(figure?.mean ?? null);
  return percentWithInterval(figure, ' %');
}

/** A share as a percentage, by default without the sign: `94.2 ± 0.3`. */
export function percentWithInterval(figure: Estimate, unit = ''): string {
  const half = (value: number) => (value * 100).toFixed(1);
  return intervalText(clipped(figure, 1), { mean: formatPercentCell, end: formatPercentCell, half, unit });
}

/** `values` must not be empty. */
export function meanOf(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** Mean of the known values; null if there are none. */
export function meanOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : meanOf(known);
}

/** Factor of the standard error in a 95 % confidence interval. Beyond the table, accurate to 0.1 %. */
export function studentT95(degreesOfFreedom: number): number {
  return T_95[degreesOfFreedom - 1] ?? 1.96 + 2.45 / degreesOfFreedom;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
