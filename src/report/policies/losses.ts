import type { PolicyComparison } from './compare.js';

/** A cell in which some policy is better than ours. */
interface Loss {
  readonly cell: string;
  /** Shares of the bound: of our policy, and of the one with the highest mean. */
  readonly ours: number;
  readonly best: number;
  readonly behind: number;
  /** The policy with the highest mean. */
  readonly policy: string;
}

/** Cells in which our policy is not the best, largest gap first; empty if it was not run. */
export function lossesOf({ cells, ours, policies }: PolicyComparison): Loss[] {
  if (ours === null) return [];
  return cells
    .flatMap(({ label, results, ranking }) => {
      const result = results[ours] ?? null;
      if (result === null || ranking.ranks[ours] === 1) return [];
      return [
        {
          cell: label,
          ours: result.share.mean,
          best: results[ranking.top]!.share.mean,
          behind: ranking.behind[ours]!,
          policy: policies[ranking.top]!.name,
        },
      ];
    })
    .sort((a, b) => b.behind - a.behind);
}
