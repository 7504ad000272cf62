import type { FailedCell, SweepResults } from '../metrics/results.js';
import { type Axis, sweepAxes } from './axes.js';
import { aggregate, type Point, scoreOf, sortPoints } from './points.js';

/** The value to choose under given conditions, e.g. the best schedule_ahead at one SLO. */
export interface Recommendation {
  /** Values of the keys that are given: SLO, workload. Empty when only choices were varied. */
  readonly conditions: Readonly<Record<string, string>>;
  /** Values of the keys that can be chosen. */
  readonly choice: Readonly<Record<string, string>>;
  readonly best: Point;
  /** The same conditions with every choice at its default; null if the sweep did not run that. */
  readonly default: Point | null;
  /** Score of the best ÷ that of the default; Infinity when the default's is 0; null without a default. */
  readonly improvement: number | null;
  /** The choice with the lowest score. */
  readonly poorest: Point;
}

/** One choice for all conditions. */
export interface CommonChoice {
  readonly choice: Readonly<Record<string, string>>;
  /** Its score relative to the best of each condition, at the condition where that is smallest. */
  readonly worstShare: number;
  /** One entry a recommendation, in the same order; null where that cell failed. */
  readonly points: readonly (Point | null)[];
}

/** Scores closer than this are a tie. */
const TIE = 0.001;

export function failedCells(results: SweepResults): FailedCell[] {
  return results.cells.filter((cell) => cell.status === 'failed');
}

/**
 * For each combination of conditions the choice with the highest score (see `scoreOf`). Scores within 0.1 %
 * of the highest are a tie, of which goodput decides; goodputs within 0.1 % go to the smaller value, which
 * holds work back least (the first varied key decides first; names rank in the order of the sweep). Empty
 * when the sweep varied nothing that can be chosen.
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
      improvement: usual === null ? null : ratio(scoreOf(best), scoreOf(usual)),
      poorest: group.reduce((poorest, point) => (scoreOf(point) < scoreOf(poorest) ? point : poorest)),
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
      const best = scoreOf((recommendations[i] as Recommendation).best);
      return point === null ? 0 : Math.min(1, ratio(scoreOf(point), best));
    });
    const worstShare = Math.min(...shares);
    if (found === null || worstShare > found.worstShare + TIE) found = { choice, worstShare, points: row };
  }
  return found;
}

/**
 * The recommendation with most at stake: that gains most over its default, or where groups are compared, that
 * has most to lose. The first one where no default was run.
 */
export function headline(recommendations: readonly Recommendation[]): Recommendation | null {
  let found: Recommendation | null = recommendations[0] ?? null;
  for (const candidate of recommendations) {
    if (found === null || stake(candidate) > stake(found)) found = candidate;
  }
  return found;
}

/** What tables put beside the best: the default, or the poorest choice where the default always is the best. */
export function counterpart(recommendations: readonly Recommendation[]): {
  readonly name: 'default' | 'poorest';
  readonly of: (recommendation: Recommendation) => Point | null;
} {
  const settled = recommendations.every(({ best, default: usual }) => best === usual);
  return settled
    ? { name: 'poorest', of: ({ poorest }) => poorest }
    : { name: 'default', of: ({ default: usual }) => usual };
}

function stake({ best, poorest, improvement }: Recommendation): number {
  return best.groups.length > 0 ? ratio(scoreOf(best), scoreOf(poorest)) : (improvement ?? 0);
}

function bestOf(ascending: readonly Point[]): Point {
  const served = leading(ascending, scoreOf);
  return leading(served, (point) => point.goodputRps.mean)[0] as Point;
}

/** Those within a tie of the highest value. */
function leading(points: readonly Point[], of: (point: Point) => number): Point[] {
  const highest = Math.max(...points.map(of));
  return points.filter((point) => of(point) >= highest * (1 - TIE));
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
