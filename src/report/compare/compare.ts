import { FIGURES, type FigureUnit } from '../../metrics/figures.js';
import type { ActionCounts, GroupSummary, RunResult } from '../../metrics/results.js';
import { differencesThatMatter } from './comparable.js';

/** A run's result under the name that tables and charts give it. */
export interface NamedRun {
  readonly name: string;
  readonly run: RunResult;
}

/** Runs side by side. The first is what the others are held against. */
export interface Comparison {
  readonly runs: readonly ComparedRun[];
  /** What makes the runs answer different questions; empty: they may be compared. One line each. */
  readonly warnings: readonly string[];
  readonly figures: readonly ComparedFigure[];
}

/** What a run was. */
export interface ComparedRun {
  readonly name: string;
  readonly experiment: string;
  readonly policy: string;
  readonly seed: number | string;
  readonly digest: string;
  readonly overrides: readonly string[];
}

/** One figure of all runs; arrays in the order of the runs. */
export interface ComparedFigure {
  /** As tolerances name it where they know it; of a group of users behind the group's name and a dot. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  readonly unit: FigureUnit;
  /** ms for latencies, a share of 1 for shares; null: there was nothing to measure. */
  readonly values: readonly (number | null)[];
  /** Less the value of the first run; null where either is. */
  readonly differences: readonly (number | null)[];
  /** The difference as a share of the first run's value; null also where that is 0 and this one is not. */
  readonly relative: readonly (number | null)[];
}

/** Holds runs against the first of them, figure by figure. Takes one run or more. */
export function compareRuns(runs: readonly NamedRun[]): Comparison {
  const results = runs.map(({ run }) => run);
  return {
    runs: runs.map(({ name, run: { summary, overrides } }) => ({
      name,
      experiment: summary.name,
      policy: summary.policy,
      seed: summary.seed,
      digest: summary.digest,
      overrides: overrides ?? [],
    })),
    warnings: differencesThatMatter(runs),
    figures: [
      ...HEADLINES.map(([name, label]) => headline(name, label, results)),
      ...groupFigures(results),
      ...actionFigures(results),
      ...UTILIZATIONS.map(([name, label]) => headline(name, label, results)),
    ],
  };
}

/** Figures of the summary by the names of `FIGURES`, with what people call them. */
const HEADLINES: readonly (readonly [string, string])[] = [
  ['goodputRps', 'goodput'],
  ['sloAttainment', 'SLO attainment'],
  ['offeredRps', 'offered'],
  ['mean', 'mean latency'],
  ['p50', 'p50 latency'],
  ['p90', 'p90 latency'],
  ['p99', 'p99 latency'],
  ['p999', 'p99.9 latency'],
  ['p9999', 'p99.99 latency'],
  ['max', 'longest latency'],
  ['offered', 'requests'],
  ['ok', 'ok'],
  ['late', 'late'],
  ['timeout', 'timeout'],
  ['rejected', 'rejected'],
  ['error', 'error'],
  ['coldStarts', 'cold starts'],
];

const UTILIZATIONS: readonly (readonly [string, string])[] = [
  ['execUtilization', 'EXEC busy'],
  ['weightsUtilization', 'WEIGHTS busy'],
];

function headline(name: string, label: string, runs: readonly RunResult[]): ComparedFigure {
  const { unit, read } = FIGURES[name]!;
  return compared(name, label, unit, runs, ({ summary }) => read(summary));
}

function actionFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const batches = new Set(runs.flatMap(({ summary }) => Object.keys(summary.actions.inferByBatch)));
  const count = (name: string, label: string, read: (actions: ActionCounts) => number) =>
    compared(name, label, 'count', runs, ({ summary }) => read(summary.actions));
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

/** Who got what, where all runs have the same groups. */
function groupFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const names = runs.map(({ groups }) => groups.map(({ name }) => name));
  if (names.some((list) => list.join('\n') !== names[0]!.join('\n'))) return [];
  return names[0]!.flatMap((name, i) => {
    const figure = (
      key: string,
      label: string,
      unit: FigureUnit,
      read: (group: GroupSummary) => number | null,
    ) => compared(`${name}.${key}`, `${name}: ${label}`, unit, runs, ({ groups }) => read(groups[i]!));
    return [
      figure('goodputRps', 'goodput', 'perSecond', ({ goodputRps }) => goodputRps),
      figure('sloAttainment', 'attained', 'share', ({ sloAttainment }) => sloAttainment),
      figure('p50', 'p50', 'ms', ({ latencyMs }) => latencyMs.p50),
      figure('p99', 'p99', 'ms', ({ latencyMs }) => latencyMs.p99),
    ];
  });
}

function compared(
  name: string,
  label: string,
  unit: FigureUnit,
  runs: readonly RunResult[],
  read: (run: RunResult) => number | null,
): ComparedFigure {
  const values = runs.map(read);
  const first = values[0] ?? null;
  const differences = values.map((value) => (value === null || first === null ? null : value - first));
  const relative = differences.map((difference) => {
    if (difference === null || first === null) return null;
    if (difference === 0) return 0;
    return first === 0 ? null : difference / first;
  });
  return { name, label, unit, values, differences, relative };
}
