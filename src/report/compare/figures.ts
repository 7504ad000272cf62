import { type FigureUnit, figureOf, figureOfPart } from '../../record/figures.js';
import { isAssessed } from '../../record/model-fairness.js';
import type { ActionCounts, RunResult } from '../../record/results.js';
import { FURTHER_COUNTS } from '../../record/schema-summary.js';
import { marginBetween, type SlicedFigure, slicedFigure, slicedPart } from '../statistics.js';

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
export function comparedFigures(runs: readonly RunResult[]): ComparedFigure[] {
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
