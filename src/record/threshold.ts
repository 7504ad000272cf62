import type * as z from 'zod';
import { EscapementError } from '../base/errors.js';
import type { Immutable } from '../base/immutable.js';
import { candidates } from '../base/nearest.js';
import { NS_PER_MS, TIMES } from '../base/units.js';
import { significant } from '../text/numbers.js';
import { DIMENSIONS, type Dimension } from './dimensions.js';
import {
  type FigureUnit,
  figureNames,
  figureOf,
  type MeasuredSummary,
  type PartFigure,
  partFigureNames,
  partOf,
  partOfFigure,
} from './figures.js';
import { HEADLINE_PERCENTILES, isOutsideRange } from './latency.js';
import { FEWEST_REQUESTS } from './model-fairness.js';
import type { thresholdResultSchema } from './schema-summary.js';

/** A condition on a run's summary, e.g. `p99<100ms`. */
export interface Threshold {
  /** The text as the user wrote it. */
  readonly text: string;
  readonly metric: string;
  readonly operator: Operator;
  /** ms for latencies, a share (1 is all) where `unit` is a share, else as written. */
  readonly limit: number;
  readonly unit: FigureUnit;
}

/** Result of a threshold; `actual` is Infinity (null in JSON) if a latency falls on a request not answered in time. */
export interface ThresholdResult extends Immutable<z.output<typeof thresholdResultSchema>> {}

/** Largest number of metrics suggested by an error. */
const MOST_NAMED = 4;
/** Largest number of parts listed by an error. */
const MOST_PARTS = 10;
const HEADLINES = Object.values(HEADLINE_PERCENTILES).map((percentile) => `p${percentile}`);
const EXECUTED = Object.values(HEADLINE_PERCENTILES).map((percentile) => `executedP${percentile}`);
const EXAMPLES = 'p99, attainment, goodputRps, timeout, class.NAME.attainment or tenant.NAME.goodputRps';

type Operator = '<' | '<=' | '>' | '>=';
/** Flags whose values are figures with a limit. */
type LimitFlag = 'threshold' | 'target' | 'tolerance';
/** Groups: metric, operator, number, unit. */
const PATTERN =
  /^\s*([A-Za-z](?:[\w.-]*\w)?)\s*(<=|>=|<|>)\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z%/]*)\s*$/;

/**
 * Reads a threshold: a metric of the summary, one of < <= > >=, and a limit: a duration for latencies (`p99<100ms`, any
 * percentile; of all offered requests unless it begins with `executed`), a share (`attainment>=0.999`,
 * `attainment>=99.9%`), a rate (`goodputRps>550`, `goodputRps>550/s`) or a count, also as a share (`timeout<1%`: of the
 * offered requests). Throws `E_USAGE`.
 */
export function parseThreshold(text: string, flag: LimitFlag = 'threshold'): Threshold {
  const refuse = refusalOf(flag, text);
  const parts = PATTERN.exec(text);
  if (parts === null)
    throw refuse('must be FIGURE, one of < <= > >=, and a number with its unit, e.g. p99<100ms');
  const [, metric, operator, number, suffix] = parts as unknown as [string, string, Operator, string, string];
  const figure = figureOf(metric);
  if (figure === null) throw refuse(unknownMetric(metric));
  const { limit, unit } = limitOf(figure.unit, Number(number), suffix, refuse);
  if (!Number.isFinite(limit)) throw refuse('the limit is too large');
  if (unit === 'share' && limit > 1) throw refuse('a share is at most 100%');
  return { text, metric, operator, limit, unit };
}

/** Compares a run's summary with a threshold. */
export function checkThreshold(
  { text, metric, unit, operator, limit }: Threshold,
  summary: MeasuredSummary,
): ThresholdResult {
  const figure = figureOf(metric)!;
  const part = partOfFigure(metric);
  const counted = part === null ? summary : partOf(summary, part.dimension, part.key);
  const nothing = (measured: string) => ({ threshold: text, ok: false, actual: null, measured });
  if (summary.requests.offered === 0) return nothing('no requests were offered');
  if (counted === null) return nothing(`the run has no ${part?.dimension} ${part?.key}`);
  if (counted.requests.offered === 0) return nothing(`the ${part?.dimension} ${part?.key} had no requests`);
  const coverage = coverageOf(metric, summary);
  if (coverage?.tells === false) return nothing(coverage.text);
  const found = figure.read(summary);
  if (found === null) return nothing(unmeasured(metric, figure.unit, summary));
  const all = figure.ofAssessedModels ? summary.modelsAssessed : counted.requests.offered;
  const total = unit === 'share' && figure.unit === 'count' ? all : 1;
  if (total === 0) return nothing('a share of 0');
  const actual = found / total;
  const { offered, ok: inTime } = counted.requests;
  const missed = `${significant(100 * (1 - inTime / offered), 3)} % of the requests were not answered in time`;
  const assessed = coverage === null ? '' : ` (${coverage.text})`;
  return {
    threshold: text,
    ok: holds({ operator, limit }, actual),
    actual,
    measured: actual === Number.POSITIVE_INFINITY ? `never: ${missed}` : `${format(actual, unit)}${assessed}`,
  };
}

/** Share of the models that a figure covers. */
interface Coverage {
  /** False if no model was assessed, or if the assessed ones received less than half of the requests. */
  readonly tells: boolean;
  /** Share of the models with requests that were assessed. */
  readonly assessed: number;
  /** `12 of 15 models assessed`, or why the figure says nothing about how models were served. */
  readonly text: string;
}

/** Coverage of a figure of assessed models; null if the figure is of all requests. */
export function coverageOf(
  metric: string,
  { requests, modelsAssessed, rareModels }: MeasuredSummary,
): Coverage | null {
  const models = modelsAssessed + rareModels.models;
  if (figureOf(metric)?.ofAssessedModels !== true || models === 0) return null;
  const tells = modelsAssessed > 0 && rareModels.offered <= requests.offered / 2;
  const assessed = `${modelsAssessed} of ${models} models`;
  const few =
    modelsAssessed === 0
      ? `no model had ${FEWEST_REQUESTS} requests`
      : `only ${assessed} had ${FEWEST_REQUESTS} requests`;
  return {
    tells,
    assessed: modelsAssessed / models,
    text: tells ? `${assessed} assessed` : `cannot tell: ${few}`,
  };
}

/** True if a value, in the threshold's unit, is within its limit. */
export function holds({ operator, limit }: Pick<Threshold, 'operator' | 'limit'>, actual: number): boolean {
  if (operator === '<') return actual < limit;
  if (operator === '<=') return actual <= limit;
  if (operator === '>') return actual > limit;
  return actual >= limit;
}

/** Explains why a run with offered requests has no such figure. */
function unmeasured(metric: string, unit: FigureUnit, summary: MeasuredSummary): string {
  if (metric === 'rareModelsAttainment') return `every model had ${FEWEST_REQUESTS} requests`;
  if (unit === 'ms') return 'no request was executed';
  return summary.durationSeconds === 0
    ? 'the run has no span: all requests arrived at one instant'
    : 'not measured';
}

/** Error text for an unknown figure name. */
function unknownMetric(metric: string): string {
  if (isOutsideRange(metric)) return `${metric}: a percentile is above 0 and at most 100, e.g. p99.9`;
  const part = partOfFigure(metric);
  const known =
    part === null ? figureNames() : [...HEADLINES, ...EXECUTED, ...partFigureNames(part.dimension)];
  const near = candidates(part?.figure ?? metric, known, MOST_NAMED);
  if (near.length > 0) return `unknown figure ${metric}; did you mean ${near.join(' or ')}?`;
  return part === null
    ? `unknown figure ${metric}; write for example ${EXAMPLES}; docs/how-to/check-slos-in-ci.md lists all`
    : `unknown figure ${metric}; a ${part.dimension} has ${known.join(', ')}`;
}

/**
 * Throws `E_USAGE`, before anything runs, for the first threshold on a part that the experiment lacks; `flag`: the one
 * that sets thresholds.
 */
export function refuseUnknownParts(
  thresholds: readonly Threshold[],
  experiments: readonly PartNames[],
  flag: LimitFlag,
): void {
  for (const { metric, text } of experiments.length === 0 ? [] : thresholds) {
    const part = partOfFigure(metric);
    if (part === null) continue;
    const known = [...new Set(experiments.flatMap((each) => each[part.dimension]))];
    if (known.includes(part.key)) continue;
    throw refusalOf(flag, text)(unknownPart(part, known));
  }
}

function unknownPart({ dimension, key }: PartFigure, known: readonly string[]): string {
  if (known.length === 0) return `the experiment has no ${DIMENSIONS[dimension].plural}`;
  const close = candidates(key, known, MOST_NAMED);
  if (close.length > 0) return `no ${dimension} is called ${key}; did you mean ${close.join(' or ')}?`;
  const more = known.length > MOST_PARTS ? ` and ${known.length - MOST_PARTS} more` : '';
  return `no ${dimension} is called ${key}; the experiment has ${known.slice(0, MOST_PARTS).join(', ')}${more}`;
}

/** Names of the parts of an experiment's runs, by dimension. */
export type PartNames = Readonly<Record<Dimension, readonly string[]>>;

/** A limit as written, in the unit of its figure or as a share. */
export function limitOf(
  unit: FigureUnit,
  value: number,
  suffix: string,
  refuse: ReturnType<typeof refusalOf>,
): { limit: number; unit: FigureUnit } {
  if (unit === 'ms') {
    const ns = Object.entries(TIMES).find(([name]) => name === suffix)?.[1];
    if (ns !== undefined) return { limit: (value * ns) / NS_PER_MS, unit };
    throw refuse(`a latency needs a unit: ${Object.keys(TIMES).join(', ')}`);
  }
  if (suffix === '' && unit === 'share' && value > 1 && value <= 100)
    throw refuse(`a share is at most 1; did you mean ${value}%?`);
  if (suffix === '') return { limit: value, unit };
  if (suffix === '%' && unit !== 'perSecond' && unit !== 'hours' && unit !== 'price')
    return { limit: value / 100, unit: 'share' };
  if (suffix === '/s' && unit === 'perSecond') return { limit: value, unit };
  throw refuse(`this figure cannot have the unit ${suffix}`);
}

function format(value: number, unit: FigureUnit): string {
  const digits = (scaled: number) => significant(scaled, 6);
  if (unit === 'ms') return `${digits(value)} ms`;
  if (unit === 'share') return `${digits(value * 100)} %`;
  return unit === 'perSecond' ? `${digits(value)}/s` : String(value);
}

/** Error about the value of a flag. */
export function refusalOf(flag: LimitFlag, text: string): (problem: string) => EscapementError {
  return (problem) => new EscapementError('E_USAGE', problem, { flag: `--${flag} '${text}'` });
}
