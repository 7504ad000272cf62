import { NS_PER_MS } from '../base/units.js';
import type { Histogram } from './histogram.js';
import type { LatencyCdf, LatencyMs, PercentileMs, RequestCounts, RequestFigures } from './results.js';

/** Percentiles that every summary has, by member name. */
export const HEADLINE_PERCENTILES = {
  p50: 50,
  p90: 90,
  p95: 95,
  p99: 99,
  p999: 99.9,
  p9999: 99.99,
} as const satisfies Partial<Record<keyof LatencyMs, number>>;

/** Names of latencies for people, in order. */
export const LATENCY_NAMES: Readonly<Record<keyof LatencyMs, string>> = {
  mean: 'mean',
  p50: 'p50',
  p90: 'p90',
  p95: 'p95',
  p99: 'p99',
  p999: 'p99.9',
  p9999: 'p99.99',
  max: 'max',
};

/** A percentile of one of the two readings of latency. */
export interface NamedPercentile {
  readonly reading: 'offered' | 'executed';
  /** Above 0, at most 100. */
  readonly percentile: number;
}

/** Reading and number. */
const PATTERN = /^(p|executedP)(\d{1,2}(?:\.\d+)?|100)$/;

/** Reads `p95`, `p99.95` or `executedP99.95`; null for any other word. */
export function parsePercentile(name: string): NamedPercentile | null {
  const parts = PATTERN.exec(name);
  if (parts === null || Number(parts[2]) === 0) return null;
  return { reading: parts[1] === 'p' ? 'offered' : 'executed', percentile: Number(parts[2]) };
}

/** True for a percentile out of range, such as `p0`, `p101` or `p995`, which lacks its point. */
export function isOutsideRange(name: string): boolean {
  return /^(?:p|executedP)\d+(?:\.\d+)?$/.test(name) && parsePercentile(name) === null;
}

/** Member of a summary's latencies that has a percentile; null for one that is computed only on request. */
export function headlineOf(percentile: number): keyof LatencyMs | null {
  if (percentile === 100) return 'max';
  const names = Object.keys(HEADLINE_PERCENTILES) as (keyof typeof HEADLINE_PERCENTILES)[];
  return names.find((name) => HEADLINE_PERCENTILES[name] === percentile) ?? null;
}

/** Percentiles of the latency curve of a run: whole numbers and the tail. */
const CDF_PERCENTILES = [...Array(100).keys(), 99.9, 99.99, 100];
/** Percentiles of the latency curve of a part of a run. */
export const PART_PERCENTILES = CDF_PERCENTILES.filter((percent) => percent % 5 === 0 || percent >= 99);

/**
 * Latencies in ms over `requests` requests, of which those missing in `histogram` were never answered in time: a figure
 * that falls on one of them is null, and all are if there were no requests.
 */
export function latencyMs(histogram: Histogram, requests: number): LatencyMs {
  const [p50, p90, p95, p99, p999, p9999] = histogram
    .percentiles(Object.values(HEADLINE_PERCENTILES), requests)
    .map(toMs);
  const all = requests === histogram.count;
  const [mean, max] = all ? [toMs(histogram.mean), toMs(requests === 0 ? Number.NaN : histogram.max)] : [];
  return { mean: mean ?? null, p50, p90, p95, p99, p999, p9999, max: max ?? null };
}

/**
 * Latency by percentile over `requests` requests, in ms. The curve ends at the share counted by `histogram`; both
 * arrays are empty if it counted none.
 */
export function latencyCdf(
  histogram: Histogram,
  requests: number,
  percentiles: readonly number[] = CDF_PERCENTILES,
): LatencyCdf {
  const { count } = histogram;
  if (count === 0) return { percentile: [], ms: [] };
  const end = (100 * count) / requests;
  const percentile = [...percentiles.filter((percent) => percent < end), end];
  return { percentile, ms: histogram.percentiles(percentile, requests).map((ns) => toMs(ns) as number) };
}

/**
 * Further percentiles in ms, ascending: over `offered` requests, of which `ok` holds those in time, and over executed
 * ones.
 */
export function percentilesMs(
  percentiles: readonly number[],
  {
    ok,
    offered,
    executed,
  }: { readonly ok: Histogram; readonly offered: number; readonly executed: Histogram },
): PercentileMs[] {
  const offeredMs = ok.percentiles(percentiles, offered).map(toMs);
  const executedMs = executed.percentiles(percentiles).map(toMs);
  return percentiles.map((percentile, i) => ({
    percentile,
    offeredMs: offeredMs[i]!,
    executedMs: executedMs[i]!,
  }));
}

/** Latency over all offered requests in ms: Infinity where it falls on one that was not answered in time. */
export function offeredMs(
  { offeredLatencyMs, requests }: Pick<RequestFigures, 'offeredLatencyMs' | 'requests'>,
  name: keyof LatencyMs,
): number | null {
  return neverIfNull(offeredLatencyMs[name], requests);
}

/** A figure of offered requests in ms: Infinity where it falls on one that was not answered in time. */
export function neverIfNull(ms: number | null, { offered }: RequestCounts): number | null {
  return ms ?? (offered === 0 ? null : Number.POSITIVE_INFINITY);
}

/** Whole ns in ms, so that no unmeasured digits are shown; null if not finite. */
function toMs(ns: number): number | null {
  return Number.isFinite(ns) ? Math.round(ns) / NS_PER_MS : null;
}
