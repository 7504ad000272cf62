import { type FigureUnit, figureOf, offeredMs } from '../../record/figures.js';
import type { ActionCounts, GroupSummary, RunKind, RunResult, TenantFigures } from '../../record/results.js';
import { fleetOf, type RankedFleet, rankFleets } from '../fleets.js';
import { generatorWarnings } from '../generator.js';
import { marginBetween, ofSection, type SlicedFigure, slicedFigure } from '../statistics.js';
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
      ...HEADLINES.map(([name, label]) => headline(name, label, results)),
      ...groupFigures(results),
      ...classFigures(results),
      ...tenantFigures(results),
      ...actionFigures(results),
      ...UTILIZATIONS.map(([name, label]) => headline(name, label, results)),
      ...COSTS.map(([name, label]) => headline(name, label, results)).filter(isKnown),
    ],
    fleets: rankFleets(runs.flatMap(({ name, run: { summary } }) => fleetOf(name, summary) ?? [])),
  };
}

/** Warnings for runs whose requests were sent badly, which explains differences by itself. */
function generatorProblems(runs: readonly NamedRun[]): string[] {
  return runs.flatMap(({ name, run }) => generatorWarnings(run).map((warning) => `${name}: ${warning}`));
}

/** Figures of the summary by the names that thresholds use, with their labels. */
const HEADLINES: readonly (readonly [string, string])[] = [
  ['attainment', 'SLO attainment'],
  ['worstModelAttainment', 'worst model attainment'],
  ['modelsBelow50', 'models below half'],
  ['rareModelsAttainment', 'rare models attainment'],
  ['goodputRps', 'goodput'],
  ['offeredRps', 'offered'],
  ['mean', 'mean latency'],
  ['p50', 'p50 latency'],
  ['p90', 'p90 latency'],
  ['p95', 'p95 latency'],
  ['p99', 'p99 latency'],
  ['p999', 'p99.9 latency'],
  ['p9999', 'p99.99 latency'],
  ['max', 'max latency'],
  ['executedP50', 'p50 of executed'],
  ['executedP99', 'p99 of executed'],
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

/** Figures of runs with classes. */
const WEIGHTED: readonly (readonly [string, string])[] = [
  ['weightedAttainment', 'attained by weight'],
  ['weightedGoodputRps', 'goodput by weight'],
];
const CLASS_FIGURES: readonly (readonly [string, string])[] = [
  ['goodputRps', 'goodput'],
  ['attainment', 'attained'],
  ['gpuShare', 'GPU time'],
  ['p99', 'p99'],
];

/** Figures of clusters whose GPUs have kinds, and of those with prices. */
const COSTS: readonly (readonly [string, string])[] = [
  ['gpuHours', 'GPU-hours'],
  ['costPerHour', 'cost per hour'],
  ['costPerMillion', 'cost per million in time'],
];

/** Figures that a tolerance can name, if any run has them. */
export const COMPARED = [...HEADLINES, ...UTILIZATIONS, ...COSTS].map(([name]) => name);

function isKnown({ values }: ComparedFigure): boolean {
  return values.some((value) => value !== null);
}

function headline(name: string, label: string, runs: readonly RunResult[]): ComparedFigure {
  const { unit, read } = figureOf(name)!;
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

/** Figures of each group, if all runs have the same groups. */
function groupFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const names = runs.map(({ groups }) => groups.map(({ name }) => name));
  if (names.some((list) => list.join('\n') !== names[0]!.join('\n'))) return [];
  return names[0]!.flatMap((name, i) => {
    const figure = (
      key: string,
      label: string,
      unit: FigureUnit,
      read: (group: GroupSummary) => number | null,
    ) =>
      compared(
        `${name}.${key}`,
        `${name}: ${label}`,
        unit,
        runs,
        ({ groups }) => read(groups[i]!),
        ofSection(slicedFigure(key), i),
      );
    return [
      figure('goodputRps', 'goodput', 'perSecond', ({ goodputRps }) => goodputRps),
      figure('attainment', 'attained', 'share', ({ attainment }) => attainment),
      figure('p50', 'p50', 'ms', (group) => offeredMs(group, 'p50')),
      figure('p99', 'p99', 'ms', (group) => offeredMs(group, 'p99')),
    ];
  });
}

/** Figures of each class that any run has, by the names of thresholds. */
function classFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const names = [...new Set(runs.flatMap(({ summary }) => (summary.classes ?? []).map(({ name }) => name)))];
  if (names.length === 0) return [];
  return [
    ...WEIGHTED.map(([name, label]) => headline(name, label, runs)),
    ...names.flatMap((of) =>
      CLASS_FIGURES.map(([name, label]) => headline(`class.${of}.${name}`, `class ${of}: ${label}`, runs)),
    ),
  ];
}

function tenantFigures(runs: readonly RunResult[]): ComparedFigure[] {
  const names = [...new Set(runs.flatMap(({ summary }) => (summary.tenants ?? []).map(({ name }) => name)))];
  return names.flatMap((of) => {
    const figure = (
      key: string,
      label: string,
      unit: FigureUnit,
      read: (tenant: TenantFigures) => number | null,
    ) =>
      compared(
        `tenant.${of}.${key}`,
        `tenant ${of}: ${label}`,
        unit,
        runs,
        ({ summary }) => {
          const found = summary.tenants?.find(({ name }) => name === of);
          return found === undefined ? null : read(found);
        },
        slicedFigure(`tenant.${of}.${key}`),
      );
    return [
      figure('goodputRps', 'goodput', 'perSecond', ({ goodputRps }) => goodputRps),
      figure('attainment', 'attained', 'share', ({ attainment }) => attainment),
      figure('gpuShare', 'GPU time', 'share', ({ gpuShare }) => gpuShare),
      figure('overRate', 'beyond its rate', 'count', ({ overRate }) => overRate),
      figure('overShare', 'beyond its share', 'count', ({ overShare }) => overShare),
    ];
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
