import { type FigureUnit, figureOf, figureOfPart } from '../../record/figures.js';
import type { ActionCounts, RunKind, RunResult } from '../../record/results.js';
import { FURTHER_COUNTS } from '../../record/schema-summary.js';
import { fleetOf, type RankedFleet, rankFleets } from '../fleets.js';
import { generatorWarnings } from '../generator.js';
import { marginBetween, type SlicedFigure, slicedFigure, slicedPart } from '../statistics.js';
import { differencesThatMatter } from './comparable.js';
import { dropWarnings, type Headline, headlinesOf } from './headline.js';
import type { NamedRun } from './named-run.js';

/** Runs side by side. The first is the reference. */
export interface Comparison {
  readonly runs: readonly ComparedRun[];
  /** Changes of each run but the first. */
  readonly headlines: readonly Headline[];
  /** Reasons why the runs answer different questions, and misleading figures; one line each, may be empty. */
  readonly warnings: readonly string[];
  readonly figures: readonly ComparedFigure[];
  /** Their fleets by cost; empty without a scaler. */
  readonly fleets: readonly RankedFleet[];
}

/** Facts about a compared run. */
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

/** One figure of all runs; arrays in the order of the runs. */
export interface ComparedFigure {
  /** Name in tolerances, if they have one; for a group of users, after the group's name and a dot. */
  readonly name: string;
  /** Label for people. */
  readonly label: string;
  readonly unit: FigureUnit;
  /** ms for latencies, a share of 1 for shares; null: nothing to measure; Infinity: `never`, see `Figure`. */
  readonly values: readonly (number | null)[];
  /** Value minus that of the first run; null if either is null, or one is `never`. */
  readonly differences: readonly (number | null)[];
  /** Half of the 95 % confidence interval of the difference, between runs of one sample each; null if not known. */
  readonly margins: readonly (number | null)[];
  /** The difference as a share of the first run's value; null also if that is 0 and this one is not. */
  readonly relative: readonly (number | null)[];
}

/** Compares runs with the first of them, figure by figure. Takes one run or more. */
export function compareRuns(runs: readonly NamedRun[]): Comparison {
  const results = runs.map(({ run }) => run);
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
    headlines: headlinesOf(runs),
    warnings: [...differencesThatMatter(runs), ...dropWarnings(runs), ...generatorProblems(runs)],
    figures: [
      ...HEADLINES.map((name) => headline(name, results)),
      ...WEIGHTED.map((name) => headline(name, results)).filter(isKnown),
      ...partFigures(results),
      ...actionFigures(results),
      ...UTILIZATIONS.map((name) => headline(name, results)),
      ...COSTS.map((name) => headline(name, results)).filter(isKnown),
    ],
    fleets: rankFleets(runs.flatMap(({ name, run: { summary } }) => fleetOf(name, summary) ?? [])),
  };
}

/** Warnings for runs whose requests were sent badly, which explains differences by itself. */
function generatorProblems(runs: readonly NamedRun[]): string[] {
  return runs.flatMap(({ name, run }) => generatorWarnings(run).map((warning) => `${name}: ${warning}`));
}

/** Figures of every run by the names that thresholds use. */
const HEADLINES = [
  ...['attainment', 'worstModelAttainment', 'modelsBelow50', 'rareModelsAttainment'],
  ...['goodputRps', 'offeredRps'],
  ...['mean', 'p50', 'p90', 'p95', 'p99', 'p999', 'p9999', 'max', 'executedP50', 'executedP99'],
  ...['offered', 'ok', 'late', 'timeout', 'rejected', 'error', ...FURTHER_COUNTS],
];
const UTILIZATIONS = ['execUtilization', 'weightsUtilization'];
/** Figures of clusters whose GPUs have kinds, and of those with prices. */
const COSTS = ['gpuHours', 'costPerHour', 'costPerMillion'];

/** Figures of parts, by dimension, and those of all by the weights of classes. */
const OF_PARTS = [
  ['group', ['goodputRps', 'attainment', 'p50', 'p99']],
  ['class', ['goodputRps', 'attainment', 'gpuShare', 'p99']],
  ['tenant', ['goodputRps', 'attainment', 'gpuShare', 'overRate', 'overShare']],
] as const;
const WEIGHTED = ['weightedAttainment', 'weightedGoodputRps'];

/** Figures that a tolerance can name, if any run has them. */
export const COMPARED = [...HEADLINES, ...UTILIZATIONS, ...COSTS];

function isKnown({ values }: ComparedFigure): boolean {
  return values.some((value) => value !== null);
}

function headline(name: string, runs: readonly RunResult[]): ComparedFigure {
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
