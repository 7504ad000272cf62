import { monotonicNs } from '../../../base/clock/clock.js';
import { NS_PER_MS } from '../../../base/units.js';

/** Stopping criteria of a measurement. */
interface Limits {
  /** Minimum number of runs, however long they take. */
  readonly least: number;
  /** By the clock `nowNs`. A run that would not end by then is not started. */
  readonly untilNs: number;
}

/** Repeats a measurement until its figures are stable, or time is up. `run` returns its duration. */
export async function timeUntilStable(
  run: () => Promise<number>,
  { least, untilNs }: Limits,
  nowNs: () => number = monotonicNs,
): Promise<number[]> {
  const durationsNs: number[] = [];
  let nextLook = FIRST_LOOK;
  for (;;) {
    const lastNs = await run();
    durationsNs.push(lastNs);
    const { length } = durationsNs;
    if (length >= least && nowNs() + lastNs > untilNs) return durationsNs;
    if (length < nextLook) continue;
    if (isStable(durationsNs) || length >= MOST_RUNS) return durationsNs;
    nextLook = Math.ceil(length * LOOK_FACTOR);
  }
}

/** First check after this many runs: sorting after each would take longer than the runs of a small model. */
const FIRST_LOOK = 40;
const LOOK_FACTOR = 1.25;
const MOST_RUNS = 10_000;

/** Two standard deviations of the normal distribution, an approximation of the binomial one: 95 % of cases. */
const Z = 1.96;
/** Required quantiles, and the maximum width of their confidence intervals, as a share. */
const QUANTILES: readonly (readonly [number, number])[] = [
  [0.5, 0.05],
  [0.9, 0.1],
];

/**
 * True if the median is known to 5 % and the 90th percentile to 10 %, each with a confidence of 95 %. The interval is
 * that of order statistics, which assumes nothing about the distribution of durations: the number of runs below a
 * quantile is binomial.
 */
export function isStable(durationsNs: readonly number[]): boolean {
  const sorted = [...durationsNs].sort((a, b) => a - b);
  const { length } = sorted;
  return QUANTILES.every(([quantile, share]) => {
    const spread = Z * Math.sqrt(length * quantile * (1 - quantile));
    const low = Math.floor(length * quantile - spread) - 1;
    const high = Math.ceil(length * quantile + spread) - 1;
    if (low < 0 || high >= length) return false;
    const value = sorted[Math.max(0, Math.ceil(length * quantile) - 1)];
    return sorted[high] - sorted[low] <= share * value;
  });
}

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
