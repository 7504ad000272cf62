import { estimate } from '../statistics.js';

/** What something scored under each seed. Seeds have the same arrivals, so scores of one seed can be compared. */
export type Scores = Readonly<Record<string, number>>;

/** Differences of this share of the whole that every seed confirms are no tie, even if few seeds make wide intervals. */
const FAR = 0.05;
/** Differences smaller than this share of the whole are none. */
const TIE = 0.001;

/**
 * Whether `a` scores better than `b` beyond doubt: by 0.1 % of `whole` or more on average, and the 95 % confidence
 * interval of the difference, taken seed by seed, leaves out 0, or `a` is ahead by 5 % and with every seed: few seeds make wide
 * intervals. Of a single common seed the difference alone decides;
 * without a common seed, the intervals of the two must not overlap.
 */
export function isBetter(a: Scores, b: Scores, whole: number): boolean {
  const differences = Object.entries(a).flatMap(([seed, score]) => {
    const other = b[seed];
    return other === undefined ? [] : [score - other];
  });
  if (differences.length === 0) return intervalOf(a).low > intervalOf(b).high;
  const { mean, low } = estimate(differences);
  const confirmed = mean >= FAR * whole && differences.every((difference) => difference > 0);
  return mean >= TIE * whole && (low > 0 || confirmed);
}

/** How candidates compare with each other. */
export interface Standing<T> {
  /** The one to choose. */
  readonly best: T;
  /** It and those whose means are within 0.1 % of the highest: as good by any measure. In the order given. */
  readonly equal: readonly T[];
  /** The others that the seeds do not tell apart from the equal ones, and these. In the order given. */
  readonly tied: readonly T[];
}

/**
 * The one rule for what is best, in tables, sentences, rings and recommendations: the highest mean, and of means within
 * 0.1 % of it the first in the order given. Further measures, if `scoresOf` gives any, decide only between means within
 * 0.1 % of each other. What the seeds do not tell apart from the best ties with it, but never replaces it: few seeds tell
 * nothing apart, and must not lead to a choice with a lower mean. `whole`: what 0.1 % is of; the highest mean if absent.
 * `candidates` must not be empty.
 */
export function standingOf<T>(
  candidates: readonly T[],
  scoresOf: (candidate: T) => readonly Scores[],
  whole?: number,
): Standing<T> {
  const entries = candidates.map((candidate) => {
    const scores = scoresOf(candidate);
    return { candidate, scores, means: scores.map((one) => intervalOf(one).mean) };
  });
  const wholes = entries[0]!.means.map((_, i) => whole ?? highestOf(entries, i));
  const leaders = wholes.reduce((left, all, i) => {
    const highest = highestOf(left, i);
    return left.filter(({ means }) => isWithin(highest - means[i]!, all));
  }, entries);
  const chosen = leaders[0]!;
  const tied = entries.filter(
    (entry) =>
      entry !== chosen &&
      (leaders.includes(entry) || !leaders.some((leader) => beats(leader, entry, wholes))),
  );
  return {
    best: chosen.candidate,
    equal: leaders.map(({ candidate }) => candidate),
    tied: tied.map(({ candidate }) => candidate),
  };
}

interface Entry {
  readonly scores: readonly Scores[];
  readonly means: readonly number[];
}

/** Whether the first measure in which the two differ at all tells them apart. */
function beats(a: Entry, b: Entry, wholes: readonly number[]): boolean {
  for (const [i, whole] of wholes.entries()) {
    if (isBetter(a.scores[i]!, b.scores[i]!, whole)) return true;
    if (!isWithin(Math.abs(a.means[i]! - b.means[i]!), whole)) return false;
  }
  return false;
}

function isWithin(difference: number, whole: number): boolean {
  return difference === 0 || difference < TIE * whole;
}

function highestOf(entries: readonly { readonly means: readonly number[] }[], i: number): number {
  return Math.max(...entries.map(({ means }) => means[i]!));
}

function intervalOf(scores: Scores) {
  return estimate(Object.values(scores));
}
