import { EscapementError } from '../../base/errors.js';
import { parsePercentile } from '../../record/percentiles.js';
import type { CellResult } from '../../record/results.js';
import type { Threshold } from '../../record/threshold.js';

/** What one cell, or all cells together, did in one run. */
export interface CellFigures {
  readonly offeredRps: number;
  readonly goodputRps: number;
  /** Share of the offered requests that were answered within their SLO; 0 if there were none. */
  readonly attainment: number;
  /** Of all offered requests, ms; null: it falls on one that was not answered in time, or there were none. */
  readonly p99Ms: number | null;
  readonly coldStarts: number;
}

type Results = readonly Pick<CellResult, 'summary' | 'latencyCdf'>[];

/** Percentiles that every run is asked for, so that those of all cells together are known: within 0.05 from the 90th on. */
const GRID: readonly number[] = [
  ...Array.from({ length: 180 }, (_, i) => i / 2),
  ...Array.from({ length: 180 }, (_, i) => (1800 + i) / 20),
  ...Array.from({ length: 100 }, (_, i) => (9900 + i) / 100),
];

/** What runs must be asked for. */
export const PERCENTILES: readonly number[] = GRID.slice(1);

/** The figures of cells together, of one seed. */
export function figuresOf(results: Results): CellFigures {
  const sum = (read: (summary: CellResult['summary']) => number) =>
    results.reduce((total, { summary }) => total + read(summary), 0);
  const offered = sum(({ requests }) => requests.offered);
  const p99Ms = percentileMs(results, 99);
  return {
    offeredRps: sum(({ offeredRps }) => offeredRps),
    goodputRps: sum(({ goodputRps }) => goodputRps),
    attainment: offered === 0 ? 0 : sum(({ requests }) => requests.ok) / offered,
    p99Ms: Number.isFinite(p99Ms) ? p99Ms : null,
    coldStarts: sum(({ coldStarts }) => coldStarts ?? 0),
  };
}

/** Throws `E_USAGE` for a target on a figure that is not known of cells together. */
export function checkTarget({ text, metric }: Threshold): void {
  if (metric === 'attainment' || metric === 'goodputRps') return;
  if (parsePercentile(metric)?.reading === 'offered' && metric !== 'p100') return;
  throw new EscapementError(
    'E_USAGE',
    `--target '${text}': with --cells, targets are on attainment, goodputRps, or a percentile such as p99`,
  );
}

/** The value that a target is held against; null: nothing was offered; Infinity: a latency that was never reached. */
export function targetValue({ metric }: Threshold, results: Results): number | null {
  const figures = figuresOf(results);
  if (figures.offeredRps === 0) return null;
  if (metric === 'attainment' || metric === 'goodputRps') return figures[metric];
  return percentileMs(results, parsePercentile(metric)!.percentile);
}

/**
 * A percentile of the requests of all cells, ms; Infinity: it falls on one that was not answered in time, or there are
 * none. Each cell's latencies are known at the percentiles of the grid, and count as the upper end of their step: the
 * figure is never too low. Of one cell that has been asked for it, it is exact.
 */
function percentileMs(results: Results, percentile: number): number {
  const steps = results.flatMap((result) => stepsOf(result));
  steps.sort((a, b) => a.ms - b.ms);
  const offered = results.reduce((sum, { summary }) => sum + summary.requests.offered, 0);
  const rank = (percentile / 100) * offered;
  let seen = 0;
  for (const { ms, requests } of steps) {
    seen += requests;
    // The slack undoes rounding of sums.
    if (seen >= rank - 1e-9 * offered) return ms;
  }
  return Number.POSITIVE_INFINITY;
}

interface Step {
  readonly ms: number;
  /** Requests of a cell above the step before, up to this latency. */
  readonly requests: number;
}

function stepsOf({ summary, latencyCdf }: Results[number]): Step[] {
  const { offered, ok } = summary.requests;
  const steps: Step[] = [];
  let before = 0;
  for (const { percentile, offeredMs } of summary.percentiles ?? []) {
    if (offeredMs === null) break;
    const upTo = (percentile / 100) * offered;
    steps.push({ ms: offeredMs, requests: upTo - before });
    before = upTo;
  }
  const slowest = latencyCdf.ms.at(-1);
  if (slowest !== undefined && ok > before) steps.push({ ms: slowest, requests: ok - before });
  return steps;
}
