import { EscapementError } from '../core/errors.js';
import { FIGURES, type FigureUnit, type MeasuredSummary, MS_PER_UNIT } from './figures.js';

/** A condition on a run's summary, e.g. `p99<100ms`. */
export interface Threshold {
  /** As the user wrote it. */
  readonly text: string;
  readonly metric: string;
  readonly operator: Operator;
  /** ms for latencies, a share (1 is all) where `unit` is a share, else as written. */
  readonly limit: number;
  readonly unit: FigureUnit;
}

export interface ThresholdResult {
  readonly ok: boolean;
  /** In the threshold's unit; null: there was nothing to measure, which fails. */
  readonly actual: number | null;
  /** One line for people. */
  readonly text: string;
}

type Operator = '<' | '<=' | '>' | '>=';
/** metric, operator, number, unit. */
const PATTERN = /^\s*([A-Za-z]\w*)\s*(<=|>=|<|>)\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z%/]*)\s*$/;

/**
 * Reads a threshold: a metric of the summary, one of < <= > >=, and a limit: a duration for
 * latencies (`p99<100ms`), a share (`sloAttainment>=0.999`, `sloAttainment>=99.9%`), a rate
 * (`goodputRps>550`, `goodputRps>550/s`) or a count, also as a share of the offered requests
 * (`timeout<1%`). Throws `E_USAGE`.
 */
export function parseThreshold(text: string): Threshold {
  const parts = PATTERN.exec(text);
  if (parts === null) throw usage(text, 'is not METRIC, one of < <= > >=, LIMIT; e.g. p99<100ms');
  const [, metric, operator, number, suffix] = parts as unknown as [string, string, Operator, string, string];
  if (!Object.hasOwn(FIGURES, metric)) {
    throw usage(text, `no metric ${metric}; known are ${Object.keys(FIGURES).join(', ')}`);
  }
  const { limit, unit } = limitOf(text, FIGURES[metric].unit, Number(number), suffix);
  return { text, metric, operator, limit, unit };
}

/** Compares a run's summary with a threshold. */
export function checkThreshold(threshold: Threshold, summary: MeasuredSummary): ThresholdResult {
  const { metric, unit } = threshold;
  const measured = FIGURES[metric].read(summary);
  if (measured === null)
    return { ok: false, actual: null, text: `${threshold.text}: not met, nothing was executed` };
  const shareOfCount = unit === 'share' && FIGURES[metric].unit === 'count';
  if (shareOfCount && summary.requests.offered === 0) {
    return { ok: false, actual: null, text: `${threshold.text}: not met, nothing was offered` };
  }
  const actual = shareOfCount ? measured / summary.requests.offered : measured;
  const ok = holds(threshold, actual);
  return {
    ok,
    actual,
    text: `${threshold.text}: ${ok ? 'met' : 'not met'}, ${metric} is ${format(actual, unit)}`,
  };
}

/** Whether a value, in the threshold's unit, is within its limit. */
export function holds({ operator, limit }: Pick<Threshold, 'operator' | 'limit'>, actual: number): boolean {
  if (operator === '<') return actual < limit;
  if (operator === '<=') return actual <= limit;
  if (operator === '>') return actual > limit;
  return actual >= limit;
}

function limitOf(
  text: string,
  unit: FigureUnit,
  value: number,
  suffix: string,
): { limit: number; unit: FigureUnit } {
  if (unit === 'ms') {
    if (Object.hasOwn(MS_PER_UNIT, suffix)) return { limit: value * MS_PER_UNIT[suffix], unit };
    throw usage(text, `a latency needs a unit: ${Object.keys(MS_PER_UNIT).join(', ')}`);
  }
  if (suffix === '' && unit === 'share' && value > 1)
    throw usage(text, `a share is at most 1; did you mean ${value}%?`);
  if (suffix === '') return { limit: value, unit };
  if (suffix === '%' && unit !== 'perSecond') return { limit: value / 100, unit: 'share' };
  if (suffix === '/s' && unit === 'perSecond') return { limit: value, unit };
  throw usage(text, `unit ${suffix} does not fit this metric`);
}

function format(value: number, unit: FigureUnit): string {
  const rounded = Number(value.toPrecision(6));
  if (unit === 'ms') return `${rounded}ms`;
  if (unit === 'share') return `${Number((value * 100).toPrecision(6))}%`;
  return unit === 'perSecond' ? `${rounded}/s` : String(value);
}

function usage(text: string, problem: string): EscapementError {
  return new EscapementError('E_USAGE', `--threshold '${text}': ${problem}`);
}
