import type { MinuteCounts } from './minute-counts.js';

/** Distribution of a trace over functions and minutes. A figure is null if nothing was invoked. */
export interface MinuteStatistics {
  readonly functions: number;
  readonly minutes: number;
  readonly invocations: number;
  /** Share of all invocations by the ten most popular functions, and by the most popular 1 % (at least one). */
  readonly top10Share: number | null;
  readonly topPercentShare: number | null;
  /** Busiest minute relative to the mean minute. */
  readonly peakToMean: number | null;
  /** Variance / mean of the minutes' totals: 1 for a Poisson process; null also for a single minute, which does not vary. */
  readonly dispersion: number | null;
  /** Functions with at least one invocation in a mean minute. */
  readonly activePerMinute: number | null;
  /** Percentiles over invoked functions of standard deviation / mean of their minutes; null likewise. */
  readonly cvP50: number | null;
  readonly cvP90: number | null;
  /** Share of the functions with fewer than one invocation per minute, and per hour, on average. */
  readonly belowOnePerMinute: number | null;
  readonly belowOnePerHour: number | null;
}

/** Collects statistics minute by minute, so that a trace need not be in memory. */
export class MinuteTally {
  private readonly totals: number[] = [];
  private readonly squares: number[] = [];
  /** Counts of the current minute. */
  private readonly now: number[] = [];
  private touched: number[] = [];

  private minutes = 0;
  private activeSum = 0;
  private totalSum = 0;
  private totalSquares = 0;
  private peak = 0;

  /** Counts functions below `functions` even if they are never invoked. */
  reserve(functions: number): void {
    while (this.now.length < functions) {
      this.now.push(0);
      this.totals.push(0);
      this.squares.push(0);
    }
  }

  /** Adds `count` invocations of function `fn` in the current minute. */
  add(fn: number, count: number): void {
    this.reserve(fn + 1);
    if (this.now[fn] === 0) this.touched.push(fn);
    this.now[fn] += count;
  }

  endMinute(): void {
    let total = 0;
    for (const fn of this.touched) {
      const count = this.now[fn];
      total += count;
      this.totals[fn] += count;
      this.squares[fn] += count * count;
      this.now[fn] = 0;
    }
    this.minutes++;
    this.activeSum += this.touched.length;
    this.totalSum += total;
    this.totalSquares += total * total;
    this.peak = Math.max(this.peak, total);
    this.touched = [];
  }

  finish(): MinuteStatistics {
    const { minutes, totals } = this;
    const sum = this.totalSum;
    const sorted = totals.toSorted((a, b) => b - a);
    const varies = minutes > 1;
    const cvs = totals
      .flatMap((total, fn) => (total === 0 || !varies ? [] : [this.squares[fn] / (total * total)]))
      .map((squares) => Math.sqrt(Math.max(0, squares * minutes - 1)))
      .sort((a, b) => a - b);
    const shareOf = (most: number) =>
      ratio(
        sorted.slice(0, most).reduce((part, total) => part + total, 0),
        sum,
      );
    const shareBelow = (least: number) =>
      ratio(totals.filter((total) => total < least).length, totals.length);
    const dispersion = ratio(this.totalSquares, sum);
    return {
      functions: totals.length,
      minutes,
      invocations: sum,
      top10Share: shareOf(10),
      topPercentShare: shareOf(Math.max(1, Math.floor(totals.length / 100))),
      peakToMean: ratio(this.peak * minutes, sum),
      dispersion: dispersion === null || !varies ? null : dispersion - sum / minutes,
      activePerMinute: this.activeSum / minutes,
      cvP50: cvs[Math.floor(0.5 * (cvs.length - 1))] ?? null,
      cvP90: cvs[Math.floor(0.9 * (cvs.length - 1))] ?? null,
      belowOnePerMinute: shareBelow(minutes),
      belowOnePerHour: shareBelow(minutes / 60),
    };
  }
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

export function statisticsOf(counts: MinuteCounts): MinuteStatistics {
  const tally = new MinuteTally();
  tally.reserve(counts.functions);
  for (let minute = 0; minute < counts.minutes; minute++) {
    for (let entry = counts.start[minute]; entry < counts.start[minute + 1]; entry++) {
      tally.add(counts.rank[entry], counts.count[entry]);
    }
    tally.endMinute();
  }
  return tally.finish();
}
