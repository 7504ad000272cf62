import { NS_PER_MS } from '../core/units.js';
import type { Histogram } from './histogram.js';
import type { LatencyCdf, LatencyMs } from './results.js';

/** Percentiles of the latency curve: whole ones and the tail. */
const CDF_PERCENTILES = [...Array(100).keys(), 99.9, 99.99, 100];

/** Headline latencies in ms; every member is null when nothing was recorded. */
export function latencyMs(histogram: Histogram): LatencyMs {
  if (histogram.count === 0) {
    return { mean: null, p50: null, p90: null, p99: null, p999: null, p9999: null, max: null };
  }
  const [p50, p90, p99, p999, p9999] = histogram.percentiles([50, 90, 99, 99.9, 99.99]).map(toMs);
  return { mean: toMs(histogram.mean), p50, p90, p99, p999, p9999, max: toMs(histogram.max) };
}

/** Latency by percentile in ms; both arrays are empty when nothing was recorded. */
export function latencyCdf(histogram: Histogram): LatencyCdf {
  if (histogram.count === 0) return { percentile: [], ms: [] };
  return { percentile: CDF_PERCENTILES, ms: histogram.percentiles(CDF_PERCENTILES).map(toMs) };
}

/** Whole ns in ms, so that no digits are shown that were not measured. */
function toMs(ns: number): number {
  return Math.round(ns) / NS_PER_MS;
}
