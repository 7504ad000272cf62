import { isBetter, standingOf } from '../study/best.js';
import type { MatrixCell } from './matrix.js';

/** Ranks of the policies in one cell; arrays in the order of the series. */
export interface CellRanking {
  /** 1 + number of better policies; null if a policy has no result. */
  readonly ranks: readonly (number | null)[];
  /** Series with the highest mean. */
  readonly top: number;
}

/** Ranks the policies of a cell. Rank 1: no other policy is better. */
export function rankCell({ results }: MatrixCell): CellRanking {
  const present = results.map((_, i) => i).filter((i) => results[i] !== null);
  return {
    ranks: results.map((result) =>
      result === null
        ? null
        : 1 + results.filter((other) => other !== null && isBetter(other.sample, result.sample, 1)).length,
    ),
    top: standingOf(present, (i) => [results[i]!.sample], 1).best,
  };
}
