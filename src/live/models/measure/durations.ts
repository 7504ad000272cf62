import { NS_PER_MS } from '../../../base/units.js';

/** Durations of many runs. */
export interface Durations {
  readonly runs: number;
  readonly minMs: number;
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Every figure is one of the measured durations: of few runs, p99 is the longest. There must be at least one. */
export function summarize(durationsNs: readonly number[]): Durations {
  const sorted = [...durationsNs].sort((a, b) => a - b);
  const runs = sorted.length;
  const quantileMs = (share: number) => sorted[Math.max(0, Math.ceil(share * runs) - 1)] / NS_PER_MS;
  return {
    runs,
    minMs: quantileMs(0),
    medianMs: quantileMs(0.5),
    p90Ms: quantileMs(0.9),
    p99Ms: quantileMs(0.99),
    maxMs: quantileMs(1),
  };
}
