import type { FailedCell, FinishedCell, SweepResults } from '../metrics/results.js';
import { type Axis, sweepAxes } from './axes.js';
import { type Estimate, estimate } from './statistics.js';

/** All finished repetitions of one combination of values. */
export interface Point {
  readonly values: Readonly<Record<string, string>>;
  readonly goodputRps: Estimate;
  readonly offeredRps: Estimate;
  /** Share of offered requests that were answered within their objective. */
  readonly sloAttainment: Estimate;
  /** null where a repetition executed nothing. */
  readonly p50Ms: Estimate | null;
  readonly p99Ms: Estimate | null;
  /** In the order of the seeds. */
  readonly cells: readonly FinishedCell[];
}

/** The value to choose under given conditions, e.g. the best schedule_ahead at one SLO. */
export interface Recommendation {
  /** Values of the keys that are given: SLO, workload. Empty when only choices were varied. */
  readonly conditions: Readonly<Record<string, string>>;
  /** Values of the keys that can be chosen. */
  readonly choice: Readonly<Record<string, string>>;
  readonly best: Point;
  /** The same conditions with every choice at its default; null if the sweep did not run that. */
  readonly default: Point | null;
  /** Best goodput ÷ default goodput; Infinity when the default serves nothing; null without a default. */
  readonly improvement: number | null;
}

/** One choice for all conditions. */
export interface CommonChoice {
  readonly choice: Readonly<Record<string, string>>;
  /** Its goodput relative to the best of each condition, at the condition where that is smallest. */
  readonly worstShare: number;
  /** One entry a recommendation, in the same order; null where that cell failed. */
  readonly points: readonly (Point | null)[];
}

/** Goodputs closer than this are a tie, which the smaller value wins: it holds work back least. */
const TIE = 0.001;

/** Mean over seeds for each combination of values, in the order of the grid. Failed cells are left out. */
export function aggregate(results: SweepResults): Point[] {
  const groups = new Map<string, FinishedCell[]>();
  for (const cell of results.cells) {
    if (cell.status !== 'done') continue;
    const name = pointName(cell.values, results);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [cell]);
    else group.push(cell);
  }
  return [...groups.values()].map(pointOf);
}

export function failedCells(results: SweepResults): FailedCell[] {
  return results.cells.filter((cell) => cell.status === 'failed');
}

/**
 * For each combination of conditions the choice with the highest mean goodput. Goodputs within 0.1 %
 * of the highest are a tie and go to the smaller value (the first varied key decides first; names rank
 * in the order of the sweep). Empty when the sweep varied nothing that can be chosen.
 */
export function recommend(results: SweepResults): Recommendation[] {
  const axes = sweepAxes(results);
  const choices = axes.filter((axis) => axis.isChoice);
  const conditions = axes.filter((axis) => !axis.isChoice);
  if (choices.length === 0) return [];
  const points = sortPoints(aggregate(results), [...conditions, ...choices]);
  const groups = groupBy(points, (point) => JSON.stringify(pick(point.values, conditions)));
  return groups.map((group) => {
    const best = bestOf(group);
    const usual =
      group.find((point) => choices.every((axis) => point.values[axis.key] === axis.default?.text)) ?? null;
    return {
      conditions: pick(best.values, conditions),
      choice: pick(best.values, choices),
      best,
      default: usual,
      improvement: usual === null ? null : ratio(best.goodputRps.mean, usual.goodputRps.mean),
    };
  });
}

/**
 * The one choice that loses least against the best of each condition, at the condition where it loses
 * most: what to deploy when one setting must serve every SLO. Ties within 0.1 % go to the smaller
 * value. null with fewer than two conditions.
 */
export function commonChoice(
  results: SweepResults,
  recommendations: readonly Recommendation[],
): CommonChoice | null {
  if (recommendations.length < 2) return null;
  const choices = sweepAxes(results).filter((axis) => axis.isChoice);
  const points = aggregate(results);
  const candidates = groupBy(sortPoints(points, choices), (point) =>
    JSON.stringify(pick(point.values, choices)),
  );
  let found: CommonChoice | null = null;
  for (const group of candidates) {
    const choice = pick((group[0] as Point).values, choices);
    const row = recommendations.map(({ conditions }) => {
      return (
        group.find((point) =>
          Object.entries(conditions).every(([key, value]) => point.values[key] === value),
        ) ?? null
      );
    });
    const shares = row.map((point, i) => {
      const best = (recommendations[i] as Recommendation).best.goodputRps.mean;
      return point === null ? 0 : Math.min(1, ratio(point.goodputRps.mean, best));
    });
    const worstShare = Math.min(...shares);
    if (found === null || worstShare > found.worstShare + TIE) found = { choice, worstShare, points: row };
  }
  return found;
}

/** The recommendation that gains most over its default; the first one where no default was run. */
export function headline(recommendations: readonly Recommendation[]): Recommendation | null {
  let found: Recommendation | null = recommendations[0] ?? null;
  for (const candidate of recommendations) {
    if (found === null || (candidate.improvement ?? 0) > (found.improvement ?? 0)) found = candidate;
  }
  return found;
}

/** Points in ascending order of the given axes, the first deciding first. */
export function sortPoints(points: readonly Point[], axes: readonly Axis[]): Point[] {
  const ranks = axes.map((axis) => new Map(axis.values.map(({ text }, rank) => [text, rank])));
  const rank = (point: Point, i: number): number =>
    ranks[i]?.get(point.values[axes[i]?.key ?? ''] ?? '') ?? -1;
  return [...points].sort((a, b) => {
    for (let i = 0; i < axes.length; i++) {
      const order = rank(a, i) - rank(b, i);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function bestOf(ascending: readonly Point[]): Point {
  const highest = Math.max(...ascending.map((point) => point.goodputRps.mean));
  return ascending.find((point) => point.goodputRps.mean >= highest * (1 - TIE)) as Point;
}

function pointOf(cells: readonly FinishedCell[]): Point {
  const summaries = cells.map((cell) => cell.result.summary);
  return {
    values: (cells[0] as FinishedCell).values,
    goodputRps: estimate(summaries.map((summary) => summary.goodputRps)),
    offeredRps: estimate(summaries.map((summary) => summary.offeredRps)),
    sloAttainment: estimate(summaries.map((summary) => summary.sloAttainment)),
    p50Ms: estimateAll(summaries.map((summary) => summary.latencyMs.p50)),
    p99Ms: estimateAll(summaries.map((summary) => summary.latencyMs.p99)),
    cells,
  };
}

function estimateAll(values: readonly (number | null)[]): Estimate | null {
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? estimate(known) : null;
}

function pointName(values: Readonly<Record<string, string>>, results: SweepResults): string {
  return JSON.stringify(results.vary.map(({ key }) => values[key]));
}

function pick(values: Readonly<Record<string, string>>, axes: readonly Axis[]): Record<string, string> {
  return Object.fromEntries(axes.map(({ key }) => [key, values[key] ?? '']));
}

function groupBy<T>(items: readonly T[], name: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(name(item));
    if (group === undefined) groups.set(name(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

function ratio(value: number, base: number): number {
  return base === 0 ? (value === 0 ? 1 : Number.POSITIVE_INFINITY) : value / base;
}
