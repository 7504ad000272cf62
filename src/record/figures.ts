import { invariant } from '../base/invariant.js';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../base/units.js';
import { CAUSE_LABELS, CAUSES } from './causes.js';
import { headlineOf, LATENCY_NAMES, type NamedPercentile, parsePercentile } from './percentiles.js';
import type { LatencyMs, RequestCounts, RequestFigures, RunParts, Summary } from './results.js';

/** ms for latencies, a share of 1, a count, per second, hours, or an amount in the currency of the experiment. */
export type FigureUnit = 'ms' | 'share' | 'count' | 'perSecond' | 'hours' | 'price';

/** A summary with or without its `wall` figures, which are not figures of the run. */
export type MeasuredSummary = Omit<Summary, 'wall'>;

/** A headline figure of a summary `T`, or of a part of one. */
interface Figure<T = MeasuredSummary> {
  readonly unit: FigureUnit;
  /** Name for people. */
  readonly label: string;
  /** Column of `results.csv`; absent: it is not there. */
  readonly column?: string;
  /** null: nothing to measure; Infinity, for a latency: it falls on a request that was not answered in time. */
  read(of: T): number | null;
  /** Total that a count is a share of; absent if it is not a share. */
  outOf?(of: T): number;
  /** True if it covers only models with enough requests to be assessed. */
  readonly ofAssessedModels?: true;
  /** True if only the scheduler knows it: a client of a server has nothing to measure. */
  readonly ofScheduler?: true;
}

/** Dimensions by which requests are counted. */
export type Dimension = keyof RunParts;

/** Part of a run by some dimension. */
type Part = NonNullable<RunParts[Dimension]>[number];
type KindPart = NonNullable<RunParts['kind']>[number];

/** Figure of a summary by name, those of its parts and percentiles included; null if there is none. */
export function figureOf(name: string): Figure | null {
  if (Object.hasOwn(FIGURES, name)) return FIGURES[name]!;
  const part = partOfFigure(name);
  if (part !== null) return figureOfPart(part);
  const named = parsePercentile(name);
  if (named === null) return null;
  const headline = headlineOf(named.percentile);
  return headline === null ? askedFor(named) : latency(named.reading, headline);
}

/** Percentiles to request from a run so that figures of these names can be read, ascending. */
export function percentilesOf(names: readonly string[]): number[] {
  const asked = names.flatMap((name) => {
    const isNamed = Object.hasOwn(FIGURES, name) || PART_FIGURE.test(name);
    const percentile = isNamed ? undefined : parsePercentile(name)?.percentile;
    return percentile === undefined || headlineOf(percentile) !== null ? [] : [percentile];
  });
  return [...new Set(asked)].sort((a, b) => a - b);
}

/** Models that figures of these names are about. */
export function modelsOf(names: readonly string[]): string[] {
  const models = names.map(partOfFigure).filter((part) => part?.dimension === 'model');
  return [...new Set(models.map((part) => part!.key))].sort();
}

/** Names of figures other than percentiles and those of parts. */
export function figureNames(): string[] {
  return Object.keys(FIGURES);
}

/** Names of the figures of a part, except percentiles. */
export function partFigureNames(dimension: Dimension): string[] {
  return Object.keys(figuresOfParts(dimension));
}

/** Part of a run that a figure is about, and the name of the figure there. */
export interface PartFigure {
  readonly dimension: Dimension;
  readonly key: string;
  readonly figure: string;
}

/** Name of a figure of a part, e.g. `class.gold.attainment` or `tenant.acme.p99.9`. */
const PART_FIGURE = /^(group|class|tenant|model|length|kind)\.([\w.-]+)\.([A-Za-z]\w*(?:\.\d+)?)$/;

/** Null: the figure is of the whole run. */
export function partOfFigure(name: string): PartFigure | null {
  const [, dimension, key, figure] = PART_FIGURE.exec(name) ?? [];
  return dimension === undefined ? null : { dimension: dimension as Dimension, key: key!, figure: figure! };
}

/** Figures of the requests of a run or of a part of it, by the names that thresholds use; percentiles: see `figureOf`. */
const OF_REQUESTS: Readonly<Record<string, Figure<RequestFigures>>> = {
  attainment: {
    ...{ unit: 'share', label: 'SLO attainment', column: 'attainment' },
    read: ({ attainment }) => attainment,
  },
  goodputRps: {
    ...{ unit: 'perSecond', label: 'goodput', column: 'goodput_rps' },
    read: ({ goodputRps }) => goodputRps,
  },
  offeredRps: {
    ...{ unit: 'perSecond', label: 'offered', column: 'offered_rps' },
    read: ({ offeredRps }) => offeredRps,
  },
  mean: latency('offered', 'mean'),
  max: latency('offered', 'max'),
  p999: latency('offered', 'p999'),
  p9999: latency('offered', 'p9999'),
  executedMean: latency('executed', 'mean'),
  executedMax: latency('executed', 'max'),
  ...Object.fromEntries(
    (['offered', 'ok', 'late', 'timeout', 'rejected', 'error'] as const).map((outcome) => {
      const label = outcome === 'offered' ? 'requests' : outcome;
      return [outcome, count(label, outcome, ({ requests }) => requests[outcome])];
    }),
  ),
  // `late` is the outcome of that name.
  ...Object.fromEntries(
    CAUSES.filter((cause) => cause !== 'late').map((cause) => [
      cause,
      { ...count(CAUSE_LABELS[cause], snake(cause), ({ failures }) => failures?.[cause]), ofScheduler: true },
    ]),
  ),
  coldStarts: {
    ...count('cold starts', 'cold_starts', ({ coldStarts }) => coldStarts),
    ofScheduler: true,
  },
};

/** Figures of a part, by name. */
const OF_PART: Readonly<Record<string, Figure<Part>>> = {
  ...OF_REQUESTS,
  gpuShare: {
    ...{ unit: 'share', label: 'GPU time', column: 'gpu_share', ofScheduler: true },
    read: ({ gpuShare }) => gpuShare ?? null,
  },
};

/** Figures of the GPUs of a kind, by name, besides those of every part. */
const OF_KIND: Readonly<Record<string, Figure<KindPart>>> = {
  execUtilization: utilization('EXEC busy', 'exec_utilization', ({ execUtilization }) => execUtilization),
  weightsUtilization: utilization(
    ...(['WEIGHTS busy', 'weights_utilization'] as const),
    ({ weightsUtilization }) => weightsUtilization,
  ),
};

/** Figures of the parts of a dimension, by name. */
function figuresOfParts(dimension: Dimension): Readonly<Record<string, Figure<Part>>> {
  // Only kinds are read with their own figures.
  return dimension === 'kind'
    ? { ...OF_PART, ...(OF_KIND as Readonly<Record<string, Figure<Part>>>) }
    : OF_PART;
}

/** Figures of a summary, by name. */
const FIGURES: Readonly<Record<string, Figure>> = {
  ...OF_REQUESTS,
  weightedAttainment: {
    ...{ unit: 'share', label: 'attained by weight' },
    read: ({ weightedAttainment }) => weightedAttainment ?? null,
  },
  weightedGoodputRps: {
    ...{ unit: 'perSecond', label: 'goodput by weight', column: 'weighted_goodput_rps' },
    read: ({ weightedGoodputRps }) => weightedGoodputRps ?? null,
  },
  worstModelAttainment: {
    ...{ unit: 'share', label: 'worst model attainment', column: 'worst_model_attainment' },
    read: ({ worstModel }) => worstModel?.attainment ?? null,
    ofAssessedModels: true,
  },
  modelsBelow50: assessed('models below half', 'models_below_50', ({ modelsBelow50 }) => modelsBelow50),
  modelsBelow90: assessed('models below 90 %', 'models_below_90', ({ modelsBelow90 }) => modelsBelow90),
  rareModelsAttainment: {
    ...{ unit: 'share', label: 'rare models attainment', column: 'rare_models_attainment' },
    read: ({ rareModels }) => rareModels.attainment,
  },
  costPerHour: {
    ...{ unit: 'price', label: 'cost per hour', column: 'cost_per_hour', ofScheduler: true },
    read: ({ cost }) => cost?.perHour ?? null,
  },
  costPerMillion: {
    ...{ unit: 'price', label: 'cost per million in time', column: 'cost_per_million', ofScheduler: true },
    read: ({ cost }) => cost?.perMillionInTime ?? null,
  },
  gpuHours: { unit: 'hours', label: 'GPU-hours', column: 'gpu_hours', ofScheduler: true, read: gpuHoursOf },
  execUtilization: utilization('EXEC busy', 'exec_utilization', ({ gpu }) => gpu?.execUtilization),
  weightsUtilization: utilization(
    'WEIGHTS busy',
    'weights_utilization',
    ({ gpu }) => gpu?.weightsUtilization,
  ),
};

/** Figure of a part; null if parts have no such figure. */
export function figureOfPart({ dimension, key, figure: name }: PartFigure): Figure | null {
  const named = parsePercentile(name);
  const headline = named === null ? null : headlineOf(named.percentile);
  const figures = figuresOfParts(dimension);
  const figure = Object.hasOwn(figures, name)
    ? figures[name]!
    : headline === null
      ? null
      : latency(named!.reading, headline);
  if (figure === null) return null;
  const { read, outOf, ...known } = figure;
  const part = (summary: MeasuredSummary) => partOf(summary, dimension, key);
  return {
    ...known,
    // A client sees no GPUs.
    ...(dimension === 'kind' ? { ofScheduler: true } : {}),
    label: `${dimension} ${key}: ${known.label}`,
    read: (summary) => {
      const found = part(summary);
      return found === null ? null : read(found);
    },
    ...(outOf === undefined
      ? {}
      : {
          outOf: (summary) => {
            const found = part(summary);
            return found === null ? 0 : outOf(found);
          },
        }),
  };
}

/** Null if the run has no such part. */
export function partOf({ by }: MeasuredSummary, dimension: Dimension, key: string): Part | null {
  const parts: readonly Part[] = by[dimension] ?? [];
  return parts.find((each) => each.key === key) ?? null;
}

/** Hours for which GPUs were paid; null if their number is not known. */
export function gpuHoursOf({
  scaling,
  by: { kind: kinds },
  durationSeconds,
}: MeasuredSummary): number | null {
  if (scaling !== undefined) return scaling.gpuHours;
  if (kinds === undefined) return null;
  return (kinds.reduce((sum, { gpus }) => sum + gpus, 0) * durationSeconds) / 3600;
}

/** Latency over all offered requests in ms: Infinity where it falls on one that was not answered in time. */
export function offeredMs(
  { offeredLatencyMs, requests }: Pick<RequestFigures, 'offeredLatencyMs' | 'requests'>,
  name: keyof LatencyMs,
): number | null {
  return neverIfNull(offeredLatencyMs[name], requests);
}

/** Units of a duration. */
export const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ns: 1 / NS_PER_MS,
  us: NS_PER_US / NS_PER_MS,
  ms: 1,
  s: NS_PER_S / NS_PER_MS,
  m: NS_PER_MINUTE / NS_PER_MS,
  h: NS_PER_HOUR / NS_PER_MS,
};

function count(
  label: string,
  column: string,
  read: (figures: RequestFigures) => number | undefined,
): Figure<RequestFigures> {
  return {
    ...{ unit: 'count', label, column },
    read: (figures) => read(figures) ?? null,
    outOf: ({ requests }) => requests.offered,
  };
}

function utilization<T>(
  label: string,
  column: string,
  read: (of: T) => number | null | undefined,
): Figure<T> {
  return { unit: 'share', label, column, ofScheduler: true, read: (of) => read(of) ?? null };
}

function assessed(label: string, column: string, read: Figure['read']): Figure {
  const outOf = ({ modelsAssessed }: MeasuredSummary) => modelsAssessed;
  return { unit: 'count', label, column, read, outOf, ofAssessedModels: true };
}

function latency(reading: NamedPercentile['reading'], name: keyof LatencyMs): Figure<RequestFigures> {
  const label = LATENCY_NAMES[name];
  return {
    unit: 'ms',
    label: reading === 'offered' ? `${label} latency` : `${label} of executed`,
    column: `${reading}_latency_${name}_ms`,
    read: (figures) => (reading === 'offered' ? offeredMs(figures, name) : figures.executedLatencyMs[name]),
  };
}

/** A percentile that summaries contain only on request. */
function askedFor({ reading, percentile }: NamedPercentile): Figure {
  return {
    ...{ unit: 'ms', label: `p${percentile} ${reading === 'offered' ? 'latency' : 'of executed'}` },
    read: ({ percentiles, requests }) => {
      const found = percentiles?.find((one) => one.percentile === percentile);
      invariant(found !== undefined, `the run was asked for its percentile ${percentile}`);
      return reading === 'executed' ? found.executedMs : neverIfNull(found.offeredMs, requests);
    },
  };
}

function neverIfNull(ms: number | null, { offered }: RequestCounts): number | null {
  return ms ?? (offered === 0 ? null : Number.POSITIVE_INFINITY);
}

/** `timed_out_cold` for `timedOutCold`. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
