import { EscapementError } from '../core/errors.js';
import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../core/units.js';
import type { RequestCounts, Summary } from './results.js';

/** A condition on a run's summary, e.g. `p99<100ms`. */
export interface Threshold {
  /** As the user wrote it. */
  readonly text: string;
  readonly metric: string;
  readonly operator: Operator;
  /** ms for latencies, a share (1 is all) where `unit` is a share, else as written. */
  readonly limit: number;
  readonly unit: Unit;
}

export interface ThresholdResult {
  readonly ok: boolean;
  /** In the threshold's unit; null: there was nothing to measure, which fails. */
  readonly actual: number | null;
  /** One line for people. */
  readonly text: string;
}

type Operator = '<' | '<=' | '>' | '>=';
type Unit = 'ms' | 'share' | 'count' | 'perSecond';

/** What can be tested. A count may also be tested as a share of the offered requests: `timeout<1%`. */
const METRICS: Readonly<Record<string, { readonly unit: Unit; read(summary: Summary): number | null }>> = {
  mean: { unit: 'ms', read: (summary) => summary.latencyMs.mean },
  p50: { unit: 'ms', read: (summary) => summary.latencyMs.p50 },
  p90: { unit: 'ms', read: (summary) => summary.latencyMs.p90 },
  p99: { unit: 'ms', read: (summary) => summary.latencyMs.p99 },
  p999: { unit: 'ms', read: (summary) => summary.latencyMs.p999 },
  p9999: { unit: 'ms', read: (summary) => summary.latencyMs.p9999 },
  max: { unit: 'ms', read: (summary) => summary.latencyMs.max },
  sloAttainment: { unit: 'share', read: (summary) => summary.sloAttainment },
  goodputRps: { unit: 'perSecond', read: (summary) => summary.goodputRps },
  offeredRps: { unit: 'perSecond', read: (summary) => summary.offeredRps },
  offered: requestCount('offered'),
  ok: requestCount('ok'),
  late: requestCount('late'),
  timeout: requestCount('timeout'),
  rejected: requestCount('rejected'),
  error: requestCount('error'),
  coldStarts: { unit: 'count', read: (summary) => summary.coldStarts },
  execUtilization: { unit: 'share', read: (summary) => summary.gpu.execUtilization },
  weightsUtilization: { unit: 'share', read: (summary) => summary.gpu.weightsUtilization },
};

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ns: 1 / NS_PER_MS,
  us: NS_PER_US / NS_PER_MS,
  ms: 1,
  s: NS_PER_S / NS_PER_MS,
  m: NS_PER_MINUTE / NS_PER_MS,
  h: NS_PER_HOUR / NS_PER_MS,
};

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
  if (!Object.hasOwn(METRICS, metric)) {
    throw usage(text, `no metric ${metric}; known are ${Object.keys(METRICS).join(', ')}`);
  }
  const { limit, unit } = limitOf(text, METRICS[metric].unit, Number(number), suffix);
  return { text, metric, operator, limit, unit };
}

/** Compares a run's summary with a threshold. */
export function checkThreshold(threshold: Threshold, summary: Summary): ThresholdResult {
  const { metric, operator, limit, unit } = threshold;
  const measured = METRICS[metric].read(summary);
  if (measured === null)
    return { ok: false, actual: null, text: `${threshold.text}: not met, nothing was executed` };
  const shareOfCount = unit === 'share' && METRICS[metric].unit === 'count';
  if (shareOfCount && summary.requests.offered === 0) {
    return { ok: false, actual: null, text: `${threshold.text}: not met, nothing was offered` };
  }
  const actual = shareOfCount ? measured / summary.requests.offered : measured;
  const ok = compare(actual, operator, limit);
  return {
    ok,
    actual,
    text: `${threshold.text}: ${ok ? 'met' : 'not met'}, ${metric} is ${format(actual, unit)}`,
  };
}

function requestCount(outcome: keyof RequestCounts) {
  return { unit: 'count', read: (summary: Summary) => summary.requests[outcome] } as const;
}

function limitOf(text: string, unit: Unit, value: number, suffix: string): { limit: number; unit: Unit } {
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

function compare(actual: number, operator: Operator, limit: number): boolean {
  if (operator === '<') return actual < limit;
  if (operator === '<=') return actual <= limit;
  if (operator === '>') return actual > limit;
  return actual >= limit;
}

function format(value: number, unit: Unit): string {
  const rounded = Number(value.toPrecision(6));
  if (unit === 'ms') return `${rounded}ms`;
  if (unit === 'share') return `${Number((value * 100).toPrecision(6))}%`;
  return unit === 'perSecond' ? `${rounded}/s` : String(value);
}

function usage(text: string, problem: string): EscapementError {
  return new EscapementError('E_USAGE', `--threshold '${text}': ${problem}`);
}
