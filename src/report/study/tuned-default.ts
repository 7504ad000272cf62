import type { SweepResults } from '../../record/results.js';
import type { Recommendation } from './analyze.js';
import { sweepAxes } from './axes.js';
import { standingOf } from './best.js';
import { aggregate, type Point, scoreOf, scoresOf, sortPoints } from './points.js';

/** Gain of the default by tuning its numbers, other choices aside. */
interface TunedDefault {
  readonly default: Point;
  /** The best of the points that differ from the default in numbers only. */
  readonly best: Point;
  readonly tied: readonly Point[];
  /** Score of the best ÷ that of the default. */
  readonly improvement: number;
}

/**
 * For each recommendation, the best that the default reaches by tuning its numbers: for example, the gain of the
 * published scheduler from another fixed schedule_ahead. Empty if nothing else was varied, because then it is the
 * recommendation, and if a default was not run.
 */
export function tunedDefaults(
  results: SweepResults,
  recommendations: readonly Recommendation[],
): TunedDefault[] {
  const choices = sweepAxes(results).filter(({ isChoice }) => isChoice);
  const numbers = choices.filter(({ kind }) => kind === 'number');
  const others = choices.length > numbers.length || numbers.some(({ values }) => values.some(isWord));
  if (numbers.length === 0 || !others) return [];
  const points = sortPoints(aggregate(results), choices);
  const tuned = recommendations.flatMap(({ default: usual }): TunedDefault[] => {
    if (usual === null || numbers.some(({ key }) => usual.values[key] === undefined)) return [];
    const candidates = points.filter(
      (point) =>
        sameValues(point.conditions, usual.conditions) &&
        choices.every(({ key, values }) =>
          numbers.some((axis) => axis.key === key)
            ? values.some((value) => value.text === point.choice[key] && !isWord(value))
            : point.choice[key] === usual.choice[key],
        ),
    );
    if (candidates.length < 2) return [];
    const { best, tied } = standingOf(candidates, scoresOf);
    const [score, base] = [scoreOf(best), scoreOf(usual)];
    const improvement = base === 0 ? (score === 0 ? 1 : Number.POSITIVE_INFINITY) : score / base;
    return [{ default: usual, best, tied, improvement }];
  });
  return tuned.length === recommendations.length ? tuned : [];
}

function isWord({ isWord: is }: { readonly isWord: boolean }): boolean {
  return is;
}

function sameValues(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
