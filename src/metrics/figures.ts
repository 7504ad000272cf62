import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US } from '../core/units.js';
import type { RequestCounts, Summary } from './results.js';

/** ms for latencies, a share of one, a count, or per second. */
export type FigureUnit = 'ms' | 'share' | 'count' | 'perSecond';

/** A summary with or without its `wall` figures: those are no figures of the run. */
export type MeasuredSummary = Omit<Summary, 'wall'>;

/** One headline figure of a summary. */
export interface Figure {
  readonly unit: FigureUnit;
  /** null: there was nothing to measure. */
  read(summary: MeasuredSummary): number | null;
}

/** The headline figures by the names that thresholds and tolerances use. */
export const FIGURES: Readonly<Record<string, Figure>> = {
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

/** Units of a duration. */
export const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ns: 1 / NS_PER_MS,
  us: NS_PER_US / NS_PER_MS,
  ms: 1,
  s: NS_PER_S / NS_PER_MS,
  m: NS_PER_MINUTE / NS_PER_MS,
  h: NS_PER_HOUR / NS_PER_MS,
};

function requestCount(outcome: keyof RequestCounts) {
  return { unit: 'count', read: (summary: MeasuredSummary) => summary.requests[outcome] } as const;
}
