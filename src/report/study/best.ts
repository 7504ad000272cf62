import { differenceOf, estimateOf, type Sample } from '../statistics.js';

/** Differences smaller than this share of the whole are none. */
const TIE = 0.001;

/**
 * Whether `a` scores better than `b`: by 0.1 % of `whole` or more on average, and the 95 % confidence interval of the
 * difference, taken seed by seed, leaves out 0. Seeds have the same arrivals, so scores of one seed can be compared; so can
 * the time slices of runs that no seed changes. Of a single common seed the difference alone decides; with nothing in
 * common, the intervals of the two must not overlap.
 */
export function isBetter(a: Sample, b: Sample, whole: number): boolean {
  const difference = differenceOf(a, b);
  if (difference === null) return estimateOf(a).low > estimateOf(b).high;
  return difference.mean >= TIE * whole && difference.low > 0;
}

/** How candidates compare with each other. */
export interface Standing<T> {
  /** The one to choose: no other has a higher mean. */
  readonly best: T;
  /** It and those with the same means. In the order given. */
  readonly equal: readonly T[];
  /** The others that are not told apart from it. In the order given. */
  readonly tied: readonly T[];
}

/**
 * The one rule for what is best, in tables, sentences, rings and recommendations: the highest mean, and everything that
 * it is not better than ties with it. Further measures, if `scoresOf` gives any, decide only between equal means.
 * `whole`: what 0.1 % is of; the highest mean if absent. `candidates` must not be empty.
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
