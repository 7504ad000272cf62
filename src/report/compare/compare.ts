import { basename, resolve } from 'node:path';
import { type FigureUnit, figureOf, figureOfPart } from '../../record/figures.js';
import { isAssessed } from '../../record/model-fairness.js';
import type { ActionCounts, RunKind, RunResult } from '../../record/results.js';
import { FURTHER_COUNTS } from '../../record/schema-summary.js';
import {
  formatCount,
  formatMs,
  formatPercent,
  formatRate,
  formatSlo,
  round3,
  significant,
} from '../../text/numbers.js';
import { generatorWarnings } from '../generator.js';
import { priceText } from '../quantity.js';
import { marginBetween, type SlicedFigure, slicedFigure, slicedPart } from '../statistics.js';

/** A run's result with its name in tables and charts. */
export interface NamedRun {
  readonly name: string;
  readonly run: RunResult;
}

/** Names of results folders for tables and charts: the last part of the path if that is unique. */
export function runNames(folders: readonly string[]): string[] {
  const short = folders.map((folder) => basename(resolve(folder)));
  const chosen = folders.map((folder, i) => (isOnce(short, short[i]!) ? short[i]! : folder));
  return chosen.map((name, i) => (isOnce(chosen, name) ? name : `${name} (${i + 1})`));
}

function isOnce(names: readonly string[], name: string): boolean {
  return names.indexOf(name) === names.lastIndexOf(name);
}

/** One figure of all runs; arrays in the order of the runs. */
export interface ComparedFigure {
  /** Name in tolerances, prefixed for a group of users by the group's name and a dot. */
  readonly name: string;
  /** Label for people. */
  readonly label: string;
  readonly unit: FigureUnit;
  /** Latencies in ms, shares of 1; null: nothing to measure; Infinity: `never`, see `Figure`. */
  readonly values: readonly (number | null)[];
  /** Value minus that of the first run; null if either is null, or one is `never`. */
  readonly differences: readonly (number | null)[];
  /**
   * Half-width of the 95 % confidence interval of the difference between runs of one sample each; null if not known.
   */
  readonly margins: readonly (number | null)[];
  /** Difference as a share of the first run's value; null also if only the first is 0. */
  readonly relative: readonly (number | null)[];
}

/** Figures of every run by the names that thresholds use. */
const HEADLINES = [
  ...['attainment', 'worstModelAttainment', 'modelsBelow50', 'rareModelsAttainment'],
  ...['goodputRps', 'offeredRps'],
  ...['mean', 'p50', 'p90', 'p95', 'p99', 'p999', 'p9999', 'max', 'executedP50', 'executedP99'],
  ...['offered', 'ok', 'late', 'timeout', 'rejected', 'error', ...FURTHER_COUNTS],
];
/** Figures of runs with variants. */
const ACCURACIES = ['accuracy', 'accurateAttainment'];
const UTILIZATIONS = ['execUtilization', 'weightsUtilization'];
/** Figures of clusters whose GPUs have kinds, and of those with prices. */
const COSTS = ['gpuHours', 'costPerHour', 'costPerMillion'];

/** Figures of parts, by dimension, and figures weighted by class. */
const OF_PARTS = [
  ['group', ['goodputRps', 'attainment', 'p50', 'p99']],
  ['class', ['goodputRps', 'attainment', 'gpuShare', 'p99']],
  ['pipeline', ['goodputRps', 'attainment', ...ACCURACIES]],
  ['step', ['attainment', 'failedHere', ...ACCURACIES, 'gpuShare']],
  ['tenant', ['goodputRps', 'attainment', 'gpuShare', 'overRate', 'overShare']],
] as const;
const WEIGHTED = ['weightedAttainment', 'weightedGoodputRps'];

/** Figures that a tolerance can name, if any run has them. */
export const COMPARED = [...HEADLINES, ...ACCURACIES, ...UTILIZATIONS, ...COSTS];

/** All figures of the runs; those that no run has are left out, unless tolerances can name them. */
function comparedFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const isKnown = ({ values }: ComparedFigure) => values.some((value) => value !== null);
  const ofRuns = (names: readonly string[]) => names.map((name) => ofRun(name, runs));
  return [
    ...ofRuns(HEADLINES),
    ...ofRuns([...ACCURACIES, ...WEIGHTED]).filter(isKnown),
    ...partFigures(runs).filter(isKnown),
    ...modelFigures(runs),
    ...actionFigures(runs),
    ...ofRuns(UTILIZATIONS),
    ...ofRuns(COSTS).filter(isKnown),
  ];
}

function ofRun(name: string, runs: readonly RunResult[]): ComparedFigure {
  const { label, unit, read } = figureOf(name)!;
  return compared(name, label, unit, runs, ({ summary }) => read(summary), slicedFigure(name));
}

function actionFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const batches = new Set(runs.flatMap(({ summary }) => Object.keys(summary.actions?.inferByBatch ?? {})));
  const count = (name: string, label: string, read: (actions: ActionCounts) => number) =>
    compared(name, label, 'count', runs, ({ summary: { actions } }) =>
      actions === undefined ? null : read(actions),
    );
  return [
    count('infer', 'INFER', ({ infer }) => infer),
    ...[...batches]
      .sort((a, b) => Number(a) - Number(b))
      .map((size) =>
        count(`batch${size}`, `of batch size ${size}`, ({ inferByBatch }) => inferByBatch[size] ?? 0),
      ),
    count('load', 'LOAD', ({ load }) => load),
    count('unload', 'UNLOAD', ({ unload }) => unload),
    count('tooLate', 'missed their window', ({ tooLate }) => tooLate),
  ];
}

/** Figures of each part that any run has, by the names of thresholds. */
function partFigures(runs: readonly RunResult[]): ComparedFigure[] {
  return OF_PARTS.flatMap(([dimension, names]) => {
    const parts = runs.map(({ summary }) => (summary.by[dimension] ?? []).map(({ key }) => key));
    const all = [...new Set(parts.flat())];
    return all.flatMap((key) =>
      names.map((figure) => {
        const part = { dimension, key, figure };
        const { label, unit, read } = figureOfPart(part)!;
        const name = `${dimension}.${key}.${figure}`;
        return compared(name, label, unit, runs, ({ summary }) => read(summary), slicedPart(part));
      }),
    );
  });
}

/** Losses of assessed models: the largest in each run, and how many models lost much. */
function modelFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const attained = ({ summary }: RunResult) =>
    new Map(summary.by.model.filter(isAssessed).map(({ key, attainment }) => [key, attainment!]));
  const usual = [...attained(runs[0]!)];
  const lossesOf = (run: RunResult) => {
    const now = attained(run);
    return usual.map(([key, from]) => ({ key, lost: from - (now.get(key) ?? from) }));
  };
  const hurt = runs.flatMap((run) => {
    const most = lossesOf(run).reduce((a, b) => (b.lost > a.lost ? b : a), { key: '', lost: 0 });
    return most.lost > 0 ? most.key : [];
  });
  return [
    ...[...new Set(hurt)].map((key) => {
      const { label, unit } = figureOfPart({ dimension: 'model', key, figure: 'attainment' })!;
      const read = (run: RunResult) => attained(run).get(key) ?? null;
      return compared(`model.${key}.attainment`, label, unit, runs, read);
    }),
    compared(
      'modelsHurt',
      'models that lost 10 pp or more',
      'count',
      runs,
      (run) => lossesOf(run).filter(({ lost }) => lost >= MUCH).length,
    ),
  ];
}

/** Smallest loss of attainment that counts as much. */
const MUCH = 0.1;

function compared(
  name: string,
  label: string,
  unit: FigureUnit,
  runs: readonly RunResult[],
  read: (run: RunResult) => number | null,
  sliced: SlicedFigure | null = null,
): ComparedFigure {
  const values = runs.map(read);
  const margins = runs.map((run, i) =>
    sliced === null || i === 0 ? null : marginBetween(runs[0]!, run, sliced),
  );
  const first = values[0] ?? null;
  const differences = values.map((value) => differenceOf(value, first));
  const relative = differences.map((difference) => {
    if (difference === null || first === null) return null;
    if (difference === 0) return 0;
    return first === 0 ? null : difference / first;
  });
  return { name, label, unit, values, differences, margins, relative };
}

function differenceOf(value: number | null, first: number | null): number | null {
  if (value === first && value !== null) return 0;
  return Number.isFinite(value) && Number.isFinite(first) ? (value as number) - (first as number) : null;
}

/** Value of run `i`: `480/s`, `98.2 %`, `12.4 ms`, `1,204`; `–` if there was nothing to measure. */
export function valueText({ unit, values }: ComparedFigure, i: number): string {
  const value = values[i] ?? null;
  return value === null ? '–' : FORMATS[unit](value);
}

/** Difference of run `i` from the first: `+2.3 ms`, `-1.2 pp` for a share, `=`, or `-1.2 pp ± 0.3` with an interval. */
export function differenceText({ unit, differences, margins }: ComparedFigure, i: number): string {
  const difference = differences[i] ?? null;
  if (difference === null) return '–';
  if (difference === 0) return '=';
  const size = Math.abs(difference);
  const margin = margins[i] ?? null;
  const text = `${signOf(difference)}${unit === 'share' ? `${hundredths(size)} pp` : FORMATS[unit](size)}`;
  if (margin === null) return text;
  return `${text} ± ${unit === 'share' ? hundredths(margin) : formatRate(significant(margin, 2))}`;
}

/** Relative difference from the first: `+7.1 %`; `from 0`. Empty for a share: percentages of percentages mislead. */
export function relativeText({ unit, differences, relative }: ComparedFigure, i: number): string {
  const difference = differences[i] ?? null;
  const share = relative[i] ?? null;
  if (difference === null) return '–';
  if (difference === 0) return '=';
  if (unit === 'share') return '';
  return share === null ? 'from 0' : `${signOf(share)}${hundredths(Math.abs(share))} %`;
}

/** Values of the first run and of run `i`, and their difference: `goodput 400/s → 352/s (-48/s ± 3.1, -12.0 %)`. */
function changeText(figure: ComparedFigure, i: number): string {
  const texts = [differenceText(figure, i), relativeText(figure, i)];
  const changes = [...new Set(texts.filter((text) => text !== '' && text !== '–'))];
  const change = changes.length === 0 ? '' : ` (${changes.join(', ')})`;
  return `${figure.label} ${valueText(figure, 0)} → ${valueText(figure, i)}${change}`;
}

/** A value with its unit. */
const FORMATS: Readonly<Record<FigureUnit, (value: number) => string>> = {
  ms: formatMs,
  share: formatPercent,
  count: formatCount,
  perSecond: (value) => `${formatRate(value)}/s`,
  hours: (value) => `${round3(value)} h`,
  price: priceText,
};

/** A share as a percentage, which may exceed 100. A small change is not rounded to none. */
function hundredths(share: number): string {
  const percent = share * 100;
  if (percent >= 100) return formatCount(percent);
  return percent >= 1 ? percent.toFixed(1) : String(significant(percent, 1));
}

function signOf(value: number): string {
  return value < 0 ? '-' : '+';
}

/** Runs side by side. The first is the reference. */
export interface Comparison {
  readonly runs: readonly ComparedRun[];
  /** Changes of each run but the first. */
  readonly headlines: readonly Headline[];
  /** Reasons why the runs are not comparable, and misleading figures; one line each. */
  readonly warnings: readonly string[];
  readonly figures: readonly ComparedFigure[];
}

/** One of the compared runs. */
export interface ComparedRun {
  readonly name: string;
  readonly experiment: string;
  readonly kind: RunKind;
  /** Null for a load, like the digest. */
  readonly policy: string | null;
  readonly seed: number | string;
  readonly digest: string | null;
  readonly overrides: readonly string[];
}

/** Compares runs with the first, figure by figure. `runs` must not be empty. */
export function compareRuns(runs: readonly NamedRun[]): Comparison {
  const figures = comparedFigures(runs.map(({ run }) => run));
  const [first, ...others] = runs as [NamedRun, ...NamedRun[]];
  return {
    runs: runs.map(({ name, run: { summary, overrides } }) => ({
      name,
      experiment: summary.name,
      kind: summary.kind,
      policy: summary.policy ?? null,
      seed: summary.seed,
      digest: summary.digest ?? null,
      overrides: overrides ?? [],
    })),
    headlines: headlinesOf(runs, figures),
    warnings: [
      ...others.flatMap((other) => differencesThatMatter(first, other)),
      // Requests sent late can explain differences alone.
      ...runs.flatMap(({ name, run }) => generatorWarnings(run).map((warning) => `${name}: ${warning}`)),
    ],
    figures,
  };
}

/**
 * Differences that make a run not comparable with the first, one line each: another experiment, seed, SLO or length.
 * Other overrides are not listed, since they are usually the point of the comparison.
 */
function differencesThatMatter(first: NamedRun, other: NamedRun): string[] {
  const settingsOf = ({ run: { summary, sloMs } }: NamedRun) =>
    [
      ['the seed', String(summary.seed), String(summary.seed)],
      ['the SLO', sloMs, sloMs === null ? 'mixed' : formatSlo(sloMs)],
      ['the duration', summary.durationSeconds, `${summary.durationSeconds} s`],
    ] as const;
  const usual = settingsOf(first);
  return [
    ...(first.run.experiment === other.run.experiment
      ? []
      : [`${other.name}: its experiment file differs from that of ${first.name}`]),
    ...settingsOf(other).flatMap(([what, value, text], i) =>
      isSame(value, usual[i]![1])
        ? []
        : [`${other.name}: ${what} is ${text}, that of ${first.name} is ${usual[i]![2]}`],
    ),
  ];
}

/** Durations that differ by less than this share of the larger are equal: a run may end at its last arrival. */
const NOISE = 0.001;

function isSame(a: number | string | null, b: number | string | null): boolean {
  if (typeof a !== 'number' || typeof b !== 'number') return a === b;
  return Math.abs(a - b) <= NOISE * Math.max(Math.abs(a), Math.abs(b));
}

/** Changes of one run against the first. */
interface Headline {
  readonly run: string;
  /** Change of attainment. */
  readonly text: string;
}

/** One headline for each run but the first. `figures`: of all runs. */
function headlinesOf(
  [first, ...others]: readonly NamedRun[],
  figures: readonly ComparedFigure[],
): Headline[] {
  const attainment = figures.find(({ name }) => name === 'attainment')!;
  return others.map(({ name }, i) => ({
    run: name,
    text: `${name} against ${first!.name}: ${changeText(attainment, i + 1)}.`,
  }));
}
