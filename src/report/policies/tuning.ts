import { formatPercentCell } from '../../text/numbers.js';
import type { MatrixCell } from './matrix.js';
import type { PolicyOverview } from './overview.js';

/** Distance of a deployable setting from the best fixed value of every cell. */
export interface TuningGap {
  readonly name: string;
  /** Series of the same kind that takes the best value of each cell. */
  readonly tuned: string;
  readonly cells: number;
  /** Number of cells in which its mean goodput is at least 98 % of that of the best value. */
  readonly near: number;
  /** Smallest ratio of its goodput to that of the best value. */
  readonly worst: { readonly ratio: number; readonly cell: string };
}

const NEAR = 0.98;

/** One entry per series that has a tuned one of its kind. */
export function tuningGaps(policies: readonly PolicyOverview[], cells: readonly MatrixCell[]): TuningGap[] {
  return policies.flatMap(({ name, kind, tuned }, own) => {
    const best = policies.findIndex((other) => other.kind === kind && other.tuned.length > 0);
    if (tuned.length > 0 || best < 0) return [];
    const ratios = cells.flatMap(({ label, results }) => {
      const [mine, its] = [results[own], results[best]];
      const [goodput, most] = [mine?.goodputRps?.mean, its?.goodputRps?.mean];
      if (goodput === undefined || most === undefined || most === 0) return [];
      return [{ ratio: goodput / most, cell: label }];
    });
    if (ratios.length === 0) return [];
    return [
      {
        name,
        tuned: policies[best]!.name,
        cells: ratios.length,
        near: ratios.filter(({ ratio }) => ratio >= NEAR).length,
        worst: ratios.reduce((worst, one) => (one.ratio < worst.ratio ? one : worst)),
      },
    ];
  });
}

/** `clockwork (auto) reaches 98 % of clockwork (best fixed) in 58 of 60 cells; at least 96.1 % (SLO 10 ms)`. */
export function tuningText({ name, tuned, cells, near, worst }: TuningGap): string {
  return `${name} reaches ${NEAR * 100} % of ${tuned} in ${near} of ${cells} cells; at least ${formatPercentCell(worst.ratio)} % (${worst.cell})`;
}
