import { differenceOf, estimateOf, type Sample } from '../statistics.js';

/** Differences below this share of the whole count as none. */
const TIE = 0.001;

/**
 * True if `a` scores better than `b`: by 0.1 % of `whole` or more on average, and the 95 % confidence interval of the
 * difference, taken seed by seed, excludes 0. Seeds have the same arrivals, so scores of one seed can be compared; so
 * can the time slices of runs that no seed changes. With a single common seed the difference alone decides; with
 * nothing in common, the intervals of the two must not overlap.
 */
export function isBetter(a: Sample, b: Sample, whole: number): boolean {
  const difference = differenceOf(a, b);
  if (difference === null) return estimateOf(a).low > estimateOf(b).high;
  return difference.mean >= TIE * whole && difference.low > 0;
}

/** Ranking of candidates. */
export interface Standing<T> {
  /** The one to choose: no other has a higher mean. */
  readonly best: T;
  /** It and those with equal means. In the given order. */
  readonly equal: readonly T[];
  /** The others indistinguishable from it. In the given order. */
  readonly tied: readonly T[];
}

/**
 * The one rule for the best, in tables, sentences, rings and recommendations: the highest mean, and every candidate
 * that is not significantly worse ties with it. Further measures, if `scoresOf` returns any, decide only between equal
 * means. `whole`: base of the 0.1 %; default: the highest mean. `candidates` must not be empty.
 */
export function standingOf<T>(
  candidates: readonly T[],
  scoresOf: (candidate: T) => readonly Sample[],
  whole?: number,
): Standing<T> {
  const entries = candidates.map((candidate) => {
    const scores = scoresOf(candidate);
    return { candidate, scores, means: scores.map((one) => estimateOf(one).mean) };
  });
  const leaders = entries[0]!.means.reduce((left, _, i) => {
    const highest = highestOf(left, i);
    return left.filter(({ means }) => means[i] === highest);
  }, entries);
  const chosen = leaders[0]!;
  const tied = entries.filter((entry) => {
    const differing = chosen.means.findIndex((mean, i) => mean !== entry.means[i]);
    const i = Math.max(0, differing);
    return entry !== chosen && !isBetter(chosen.scores[i]!, entry.scores[i]!, whole ?? highestOf(entries, i));
  });
  return {
    best: chosen.candidate,
    equal: leaders.map(({ candidate }) => candidate),
    tied: tied.map(({ candidate }) => candidate),
  };
}

function highestOf(entries: readonly { readonly means: readonly number[] }[], i: number): number {
  return Math.max(...entries.map(({ means }) => means[i]!));
}
