import { invariant } from '../base/invariant.js';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../base/units.js';
import { CAUSES, type Cause } from './causes.js';
import { headlineOf, type NamedPercentile, parsePercentile } from './percentiles.js';
import type {
  ClassFigures,
  GroupSummary,
  LatencyMs,
  RequestCounts,
  Summary,
  TenantFigures,
} from './results.js';

/** ms for latencies, a share of 1, a count, per second, hours, or an amount in the currency of the experiment. */
export type FigureUnit = 'ms' | 'share' | 'count' | 'perSecond' | 'hours' | 'price';

/** A summary with or without its `wall` figures, which are not figures of the run. */
export type MeasuredSummary = Omit<Summary, 'wall'>;

/** One headline figure of a summary. */
interface Figure {
  readonly unit: FigureUnit;
  /** null: nothing to measure; Infinity, for a latency: it falls on a request that was not answered in time. */
  read(summary: MeasuredSummary): number | null;
  /** Total that a count is a share of; absent if it is not a share. */
  outOf?(summary: MeasuredSummary): number;
  /** True if it covers only models with enough requests to be assessed. */
  readonly ofAssessedModels?: true;
  /** True if only the scheduler knows it: a client of a server has nothing to measure. */
  readonly ofScheduler?: true;
}

/** Figure of a summary by name, percentiles included; null if there is none. */
export function figureOf(name: string): Figure | null {
  if (Object.hasOwn(FIGURES, name)) return FIGURES[name]!;
  const sender = SENDER_FIGURE.exec(name);
  if (sender !== null) return senderFigure(sender[1] as SenderKind, sender[2]!, sender[3]!);
  const named = parsePercentile(name);
  if (named === null) return null;
  const headline = headlineOf(named.percentile);
  return headline === null ? askedFor(named) : latency(named.reading, headline);
}

/** Percentiles to request from a run so that figures of these names can be read, ascending. */
export function percentilesOf(names: readonly string[]): number[] {
  const asked = names.flatMap((name) => {
    const isNamed = Object.hasOwn(FIGURES, name) || SENDER_FIGURE.test(name);
    const percentile = isNamed ? undefined : parsePercentile(name)?.percentile;
    return percentile === undefined || headlineOf(percentile) !== null ? [] : [percentile];
  });
  return [...new Set(asked)].sort((a, b) => a - b);
}

/** Current name of a renamed figure; undefined if no figure had that name. */
export function renamedFigure(name: string): string | undefined {
  return name === 'sloAttainment' ? 'attainment' : undefined;
}

/** Names of figures other than percentiles and those of one class or tenant. */
export function figureNames(): string[] {
  return Object.keys(FIGURES);
}

/** Sender that a figure is about; null: all requests. */
export function senderOfFigure(name: string): { readonly kind: SenderKind; readonly name: string } | null {
  const parts = SENDER_FIGURE.exec(name);
  return parts === null ? null : { kind: parts[1] as SenderKind, name: parts[2]! };
}

/** Names of the figures of one class or tenant, except percentiles. */
export function senderFigureNames(kind: SenderKind): string[] {
  return Object.keys(SENDER_FIGURES[kind]);
}

/** Figures by the names that thresholds use, except percentiles: see `figureOf`. */
const FIGURES: Readonly<Record<string, Figure>> = {
  mean: latency('offered', 'mean'),
  max: latency('offered', 'max'),
  executedMean: latency('executed', 'mean'),
  executedMax: latency('executed', 'max'),
  p999: latency('offered', 'p999'),
  p9999: latency('offered', 'p9999'),
  attainment: { unit: 'share', read: (summary) => summary.attainment },
  goodputRps: { unit: 'perSecond', read: (summary) => summary.goodputRps },
  offeredRps: { unit: 'perSecond', read: (summary) => summary.offeredRps },
  weightedAttainment: { unit: 'share', read: (summary) => summary.weightedAttainment ?? null },
  weightedGoodputRps: { unit: 'perSecond', read: (summary) => summary.weightedGoodputRps ?? null },
  offered: requestCount('offered'),
  ok: requestCount('ok'),
  late: requestCount('late'),
  timeout: requestCount('timeout'),
  rejected: requestCount('rejected'),
  error: requestCount('error'),
  // `late` is the outcome of that name.
  ...Object.fromEntries(
    CAUSES.filter((cause) => cause !== 'late').map((cause) => [cause, failureCount(cause)]),
  ),
  worstModelAttainment: {
    unit: 'share',
    read: (summary) => summary.worstModel?.attainment ?? null,
    ofAssessedModels: true,
  },
  modelsBelow50: assessedCount((summary) => summary.modelsBelow50),
  modelsBelow90: assessedCount((summary) => summary.modelsBelow90),
  rareModelsAttainment: { unit: 'share', read: ({ rareModels }) => rareModels.attainment },
  coldStarts: {
    unit: 'count',
    read: (summary) => summary.coldStarts ?? null,
    outOf: offered,
    ofScheduler: true,
  },
  costPerHour: { unit: 'price', read: ({ cost }) => cost?.perHour ?? null, ofScheduler: true },
  costPerMillion: { unit: 'price', read: ({ cost }) => cost?.perMillionInTime ?? null, ofScheduler: true },
  gpuHours: { unit: 'hours', read: gpuHoursOf, ofScheduler: true },
  execUtilization: { unit: 'share', read: ({ gpu }) => gpu?.execUtilization ?? null, ofScheduler: true },
  weightsUtilization: {
    unit: 'share',
    read: ({ gpu }) => gpu?.weightsUtilization ?? null,
    ofScheduler: true,
  },
};

type SenderKind = 'class' | 'tenant';
type SenderSummary = ClassFigures | TenantFigures;

/** Name of a figure of one class or tenant, e.g. `class.gold.attainment` or `tenant.acme.p99.9`. */
const SENDER_FIGURE = /^(class|tenant)\.([\w.-]+)\.([A-Za-z]\w*(?:\.\d+)?)$/;

interface SenderFigure<T extends SenderSummary> {
  readonly unit: FigureUnit;
  readonly ofScheduler?: true;
  read(figures: T): number | null;
}

const OF_EACH_SENDER: Readonly<Record<string, SenderFigure<SenderSummary>>> = {
  attainment: { unit: 'share', read: ({ attainment }) => attainment },
  goodputRps: { unit: 'perSecond', read: (figures) => figures.goodputRps },
  offeredRps: { unit: 'perSecond', read: (figures) => figures.offeredRps },
  ...Object.fromEntries(
    (['offered', 'ok', 'late', 'timeout', 'rejected', 'error'] as const).map((outcome) => [
      outcome,
      { unit: 'count', read: ({ requests }: SenderSummary) => requests[outcome] } as const,
    ]),
  ),
  gpuShare: { unit: 'share', ofScheduler: true, read: ({ gpuShare }) => gpuShare },
};

/** Figures of a class or a tenant by name, except percentiles. */
const SENDER_FIGURES = {
  class: OF_EACH_SENDER as Readonly<Record<string, SenderFigure<ClassFigures>>>,
  tenant: {
    ...OF_EACH_SENDER,
    overRate: { unit: 'count', ofScheduler: true, read: ({ overRate }) => overRate },
    overShare: { unit: 'count', ofScheduler: true, read: ({ overShare }) => overShare },
  } as Readonly<Record<string, SenderFigure<TenantFigures>>>,
};

/** Null if there is no such figure of a class or a tenant. */
function senderFigure(kind: SenderKind, name: string, metric: string): Figure | null {
  return kind === 'class'
    ? figureIn(SENDER_FIGURES.class, metric, ({ classes = [] }) => classes.find((one) => one.name === name))
    : figureIn(SENDER_FIGURES.tenant, metric, ({ tenants = [] }) => tenants.find((one) => one.name === name));
}

function figureIn<T extends SenderSummary>(
  figures: Readonly<Record<string, SenderFigure<T>>>,
  metric: string,
  find: (summary: MeasuredSummary) => T | undefined,
): Figure | null {
  const readBy = (read: (found: T) => number | null) => (summary: MeasuredSummary) => {
    const found = find(summary);
    return found === undefined ? null : read(found);
  };
  if (Object.hasOwn(figures, metric)) {
    const { read, ...known } = figures[metric]!;
    const outOf = (summary: MeasuredSummary) => find(summary)?.requests.offered ?? 0;
    return { ...known, read: readBy(read), ...(known.unit === 'count' ? { outOf } : {}) };
  }
  const named = parsePercentile(metric);
  const headline = named === null ? null : headlineOf(named.percentile);
  if (named === null || headline === null) return null;
  const read = (found: T) =>
    named.reading === 'offered' ? offeredMs(found, headline) : found.executedLatencyMs[headline];
  return { unit: 'ms', read: readBy(read) };
}

/** Hours for which GPUs were paid; null if their number is not known. */
export function gpuHoursOf({ scaling, kinds, durationSeconds }: MeasuredSummary): number | null {
  if (scaling !== undefined) return scaling.gpuHours;
  if (kinds === undefined) return null;
  return (kinds.reduce((sum, { gpus }) => sum + gpus, 0) * durationSeconds) / 3600;
}

/** Latency over all offered requests in ms: Infinity where it falls on one that was not answered in time. */
export function offeredMs(
  { offeredLatencyMs, requests }: Pick<GroupSummary, 'offeredLatencyMs' | 'requests'>,
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

function offered({ requests }: MeasuredSummary): number {
  return requests.offered;
}

function assessedCount(read: Figure['read']): Figure {
  return { unit: 'count', read, outOf: ({ modelsAssessed }) => modelsAssessed, ofAssessedModels: true };
}

function failureCount(cause: Cause) {
  return {
    unit: 'count',
    read: (summary: MeasuredSummary) => summary.failures?.[cause] ?? null,
    outOf: offered,
    ofScheduler: true,
  } as const;
}

function requestCount(outcome: keyof RequestCounts) {
  return {
    unit: 'count',
    read: (summary: MeasuredSummary) => summary.requests[outcome],
    outOf: offered,
  } as const;
}

function latency(reading: NamedPercentile['reading'], name: keyof LatencyMs): Figure {
  const read = (summary: MeasuredSummary) =>
    reading === 'offered' ? offeredMs(summary, name) : summary.executedLatencyMs[name];
  return { unit: 'ms', read };
}

/** A percentile that summaries contain only on request. */
function askedFor({ reading, percentile }: NamedPercentile): Figure {
  return {
    unit: 'ms',
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
