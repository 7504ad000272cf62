import type { Dimension } from '../../record/dimensions.js';
import { figureOf } from '../../record/figures.js';
import { LATENCY_NAMES } from '../../record/latency.js';
import type { CellResult, SweepCell, SweepResults } from '../../record/results.js';
import { FURTHER_COUNTS } from '../../record/schema-summary.js';
import { csvText } from '../../text/csv.js';

/** `results.csv`: a header and one row per cell: varied keys as written, seed, outcome, figures. */
export function resultsCsv(results: SweepResults): string {
  const keys = results.vary.map(({ key }) => key);
  const done = results.cells.flatMap((cell) => (cell.status === 'done' ? cell.result : []));
  const figures = columnsOf(done);
  const fields = [...keys, 'seed', 'status', ...Object.keys(figures), 'code', 'message'];
  return csvText(
    fields,
    results.cells.map((cell) => row(cell, keys, Object.values(figures))),
  );
}

type Column = (result: CellResult) => number | string | null;

const LATENCIES = Object.values(LATENCY_NAMES);

/** Figures of every cell, in order, by the names that thresholds use. */
const ALWAYS = [
  ...['goodputRps', 'attainment', 'offeredRps', 'offered', 'ok', 'late', 'timeout', 'rejected', 'error'],
  ...LATENCIES,
  ...LATENCIES.map((name) => `executed${name[0]!.toUpperCase()}${name.slice(1)}`),
  ...['worstModelAttainment', 'modelsBelow50', 'modelsBelow90', 'rareModelsAttainment'],
  ...['timedOutCold', 'timedOutQueued', 'missedWindow', 'deviceError', 'workerLost', ...FURTHER_COUNTS],
  ...['execUtilization', 'weightsUtilization'],
];
/** Figures that only some runs have. */
const SOMETIMES = ['gpuHours', 'costPerHour', 'costPerMillion', 'weightedGoodputRps'];
/** Figures of each class and tenant. */
const OF_SENDERS = ['goodputRps', 'attainment', 'gpuShare'];
const SENDERS: readonly (readonly [Dimension, readonly string[]])[] = [
  ['class', OF_SENDERS],
  ['tenant', [...OF_SENDERS, 'overRate', 'overShare']],
  ['pipeline', OF_SENDERS],
];

/** Columns in order. Names follow `summary.json`, with the unit last. */
function columnsOf(done: readonly CellResult[]): Record<string, Column> {
  const isMeasured = (name: string) => done.some(({ summary }) => figureOf(name)!.read(summary) !== null);
  const isSample = done.some(({ slices }) => slices?.oneSample === true);
  return {
    ...Object.fromEntries(ALWAYS.map((name) => column(name))),
    worst_model: ({ summary }) => summary.worstModel?.name ?? null,
    models_assessed: ({ summary }) => summary.modelsAssessed,
    rare_models: ({ summary }) => summary.rareModels.models,
    rare_models_offered: ({ summary }) => summary.rareModels.offered,
    load: ({ summary }) => summary.actions.load,
    unload: ({ summary }) => summary.actions.unload,
    infer: ({ summary }) => summary.actions.infer,
    too_late: ({ summary }) => summary.actions.tooLate,
    digest: ({ summary }) => summary.digest,
    bound_rps: ({ bound }) => bound?.bestRps ?? null,
    ...(isSample
      ? { one_sample: ({ slices }: CellResult) => (slices?.oneSample === true ? 'yes' : 'no') }
      : {}),
    ...Object.fromEntries(SOMETIMES.filter(isMeasured).map((name) => column(name))),
    ...(isMeasured('weightedGoodputRps')
      ? { weighted_bound_rps: ({ bound }: CellResult) => bound?.weightedRps ?? null }
      : {}),
    ...Object.fromEntries(
      SENDERS.flatMap(([dimension, names]) =>
        keysOf(done, dimension).flatMap((key) =>
          names.map((name) => column(`${dimension}.${key}.${name}`, `${dimension}_${key}_`)),
        ),
      ),
    ),
  };
}

/** Column of the figure that thresholds call `name`; a latency that falls on an unanswered request is empty. */
function column(name: string, prefix = ''): [string, Column] {
  const { column: title, read } = figureOf(name)!;
  return [
    `${prefix}${title}`,
    ({ summary }) => {
      const value = read(summary);
      return value === Number.POSITIVE_INFINITY ? null : value;
    },
  ];
}

/** Names of the parts of a dimension in any cell. */
function keysOf(done: readonly CellResult[], dimension: Dimension): string[] {
  return [...new Set(done.flatMap(({ summary }) => (summary.by[dimension] ?? []).map(({ key }) => key)))];
}

function row(
  cell: SweepCell,
  keys: readonly string[],
  columns: readonly Column[],
): (string | number | null)[] {
  const place = [...keys.map((key) => cell.values[key] ?? ''), cell.seed, cell.status];
  if (cell.status === 'failed') return [...place, ...columns.map(() => null), cell.code, cell.message];
  return [...place, ...columns.map((each) => each(cell.result)), null, null];
}
