import type * as z from 'zod';
import { invariant } from '../base/invariant.js';
import { DIMENSIONS, type Dimension } from './dimensions.js';
import {
  headlineOf,
  LATENCY_NAMES,
  type NamedPercentile,
  neverIfNull,
  offeredMs,
  parsePercentile,
} from './latency.js';
import type { LatencyMs, RequestFigures, RunParts, Summary } from './results.js';
import {
  FIGURES as FACTS,
  type FigureFacts,
  latencyMsSchema,
  percentileMsSchema,
  runPartsSchema,
  summarySchema,
} from './schema-summary.js';

export type FigureUnit = FigureFacts['unit'];

/** A summary with or without its `wall` figures, which are not figures of the run. */
export type MeasuredSummary = Omit<Summary, 'wall'>;

/** A headline figure of a summary `T`, or of a part of one. */
interface Figure<T = MeasuredSummary> extends FigureFacts {
  readonly description: string;
  /** Column of `results.csv`. */
  readonly column: string;
  /** null: nothing to measure; Infinity, for a latency: it falls on a request that was not answered in time. */
  read(of: T): number | null;
}

/** Part of a run by some dimension. */
type Part = NonNullable<RunParts[Dimension]>[number];

/** Figure of a summary by name, those of its parts and percentiles included; null if there is none. */
export function figureOf(name: string): Figure | null {
  const part = partOfFigure(name);
  if (part !== null) return figureOfPart(part);
  const named = parsePercentile(name);
  return figureIn(FIGURES, name) ?? (named === null ? null : askedFor(named));
}

/** One of these figures, or a latency that every part of a run has, by name. */
function figureIn<T extends RequestFigures>(
  figures: Readonly<Record<string, Figure<T>>>,
  name: string,
): Figure<T> | null {
  if (Object.hasOwn(figures, name)) return figures[name]!;
  const named = parsePercentile(name);
  const headline = named === null ? null : headlineOf(named.percentile);
  return headline === null ? null : latency(named!.reading, headline);
}

/** Percentiles that a run must compute for the figures with these names, ascending. */
export function percentilesOf(names: readonly string[]): number[] {
  const named = names.flatMap((name) => parsePercentile(name)?.percentile ?? []);
  return [...new Set(named)].filter((percentile) => headlineOf(percentile) === null).sort((a, b) => a - b);
}

/** Models that figures of these names are about. */
export function modelsOf(names: readonly string[]): string[] {
  const models = names.map(partOfFigure).filter((part) => part?.dimension === 'model');
  return [...new Set(models.map((part) => part!.key))].sort();
}

/** Names of figures, without percentiles and figures of parts. */
export function figureNames(): string[] {
  return Object.keys(FIGURES);
}

/** Names of the figures of a part, except percentiles. */
export function partFigureNames(dimension: Dimension): string[] {
  return Object.keys(OF_PARTS[dimension]);
}

/** Part of a run that a figure is about, and the name of the figure there. */
export interface PartFigure {
  readonly dimension: Dimension;
  readonly key: string;
  readonly figure: string;
}

/** Name of a figure of a part, e.g. `class.gold.attainment` or `tenant.acme.p99.9`. */
const PART_FIGURE = new RegExp(
  `^(${Object.keys(DIMENSIONS).join('|')})\\.([\\w.-]+)\\.([A-Za-z]\\w*(?:\\.\\d+)?)$`,
);

/** Null: the figure is of the whole run. */
export function partOfFigure(name: string): PartFigure | null {
  const [, dimension, key, figure] = PART_FIGURE.exec(name) ?? [];
  return dimension === undefined ? null : { dimension: dimension as Dimension, key: key!, figure: figure! };
}

/** Latencies with names other than `p` and a percentile, of a run or of a part of it, by the names that thresholds use. */
const LATENCIES: Readonly<Record<string, Figure<RequestFigures>>> = {
  mean: latency('offered', 'mean'),
  max: latency('offered', 'max'),
  p999: latency('offered', 'p999'),
  p9999: latency('offered', 'p9999'),
  executedMean: latency('executed', 'mean'),
  executedMax: latency('executed', 'max'),
};

const OF_SUMMARY = figuresIn<MeasuredSummary>(summarySchema.omit({ by: true }));
/** Figures of a summary, by name. */
const FIGURES: Readonly<Record<string, Figure>> = {
  ...LATENCIES,
  ...OF_SUMMARY,
  gpuHours: { ...OF_SUMMARY.gpuHours!, read: gpuHoursOf },
};

/** Figures of the parts of each dimension, by name. */
const OF_PARTS = Object.fromEntries(
  Object.entries(runPartsSchema.shape).map(([dimension, parts]) => [
    dimension,
    { ...LATENCIES, ...figuresIn<Part>(parts) },
  ]),
) as Readonly<Record<Dimension, Readonly<Record<string, Figure<Part>>>>>;

/** Figures among the fields of a schema, by name; `path`: of the schema in what they are read from. */
function figuresIn<T>(schema: z.ZodType, path: readonly string[] = []): Record<string, Figure<T>> {
  const facts = FACTS.get(schema);
  if (facts !== undefined) {
    const name = facts.name ?? path.at(-1)!;
    const read = (of: T) => (path.reduce<unknown>(memberOf, of) ?? null) as number | null;
    return { [name]: { ...facts, description: schema.description!, column: snake(name), read } };
  }
  const around = schema as Around;
  if (around.shape === undefined) return around.unwrap === undefined ? {} : figuresIn(around.unwrap(), path);
  const inside = Object.entries(around.shape).map(([key, field]) => figuresIn<T>(field, [...path, key]));
  return Object.assign({}, ...inside);
}

/** A schema that has fields, like an object, or wraps another schema, like a list or an optional field. */
type Around = z.ZodType & { readonly shape?: Readonly<Record<string, z.ZodType>>; unwrap?(): z.ZodType };

function memberOf(value: unknown, key: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
}

/** Figure of a part; null if parts have no such figure. */
export function figureOfPart({ dimension, key, figure: name }: PartFigure): Figure | null {
  const figure = figureIn(OF_PARTS[dimension], name);
  if (figure === null) return null;
  return {
    ...figure,
    // A client sees no GPUs.
    ...(dimension === 'kind' ? { ofScheduler: true } : {}),
    label: `${dimension} ${key}: ${figure.label}`,
    read: (summary) => {
      const found = partOf(summary, dimension, key);
      return found === null ? null : figure.read(found);
    },
  };
}

/** Null if the run has no such part. */
export function partOf({ by }: MeasuredSummary, dimension: Dimension, key: string): Part | null {
  const parts: readonly Part[] = by[dimension] ?? [];
  return parts.find((each) => each.key === key) ?? null;
}

/** GPU-hours paid for; null if not known. */
export function gpuHoursOf({
  scaling,
  by: { kind: kinds },
  durationSeconds,
}: MeasuredSummary): number | null {
  if (scaling !== undefined) return scaling.gpuHours;
  if (kinds === undefined) return null;
  return (kinds.reduce((sum, { gpus }) => sum + gpus, 0) * durationSeconds) / 3600;
}

function latency(reading: NamedPercentile['reading'], name: keyof LatencyMs): Figure<RequestFigures> {
  return {
    ...latencyFacts(reading, LATENCY_NAMES[name], latencyMsSchema.shape[name].description!, name),
    read: (figures) => (reading === 'offered' ? offeredMs(figures, name) : figures.executedLatencyMs[name]),
  };
}

/** Figure of a percentile that summaries contain only on request. */
function askedFor({ reading, percentile }: NamedPercentile): Figure {
  const name = `p${percentile}`;
  return {
    ...latencyFacts(reading, name, `${percentile}th percentile.`, name),
    read: ({ percentiles, requests }) => {
      const found = percentiles?.find((one) => one.percentile === percentile);
      invariant(found !== undefined, `the run was asked for its percentile ${percentile}`);
      return reading === 'executed' ? found.executedMs : neverIfNull(found.offeredMs, requests);
    },
  };
}

function latencyFacts(reading: NamedPercentile['reading'], label: string, meaning: string, column: string) {
  return {
    ...({ unit: 'ms', better: 'lower' } as const),
    label: reading === 'offered' ? `${label} latency` : `${label} of executed`,
    description: `${meaning} ${percentileMsSchema.shape[`${reading}Ms`].description}`,
    column: `${reading}_latency_${column}_ms`,
  };
}

/** `models_below_50` for `modelsBelow50`. */
function snake(name: string): string {
  return name.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`);
}
