import { estimate } from '../statistics.js';
import type { CellOutcome, MatrixCell } from './matrix.js';

/** Where the policies stand in one cell; arrays in the order of the series. */
export interface CellRanking {
  /** 1 + number of policies that are better beyond doubt; null where a policy has no result. */
  readonly ranks: readonly (number | null)[];
  /** Series with the highest mean. */
  readonly top: number;
  /** How far each is behind the highest mean, in shares of the bound. */
  readonly behind: readonly (number | null)[];
}

/** Differences of less than 0.1 % of the bound are none. */
const TIE = 0.001;

/** Ranks the policies of a cell. Rank 1: no other policy is better beyond doubt. */
export function rankCell({ results }: MatrixCell): CellRanking {
  const means = results.map((result) => result?.share.mean ?? Number.NEGATIVE_INFINITY);
  const highest = Math.max(...means);
  return {
    ranks: results.map((result) =>
      result === null
        ? null
        : 1 + results.filter((other) => other !== null && isBetter(other, result)).length,
    ),
    top: means.indexOf(highest),
    behind: results.map((result) => (result === null ? null : highest - result.share.mean)),
  };
}

/**
 * Whether `a` is better than `b` beyond doubt: by 0.1 % of the bound or more on average, and the 95 % confidence
 * interval of the difference, taken seed by seed because both met the same arrivals, leaves out 0. Of a single common
 * seed the difference alone decides.
 */
export function isBetter(a: CellOutcome, b: CellOutcome): boolean {
  const differences = Object.entries(a.bySeed).flatMap(([seed, share]) => {
    const other = b.bySeed[seed];
    return other === undefined ? [] : [share - other];
  });
  if (differences.length === 0) return a.share.low > b.share.high;
  const difference = estimate(differences);
  return difference.mean >= TIE && difference.low > 0;
}
