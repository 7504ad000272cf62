import type { LatencyMs } from './results.js';

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
