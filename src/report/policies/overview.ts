import { type Estimate, estimateOf, meanOf, meanOfKnown, type Sample } from '../statistics.js';
import type { MatrixCell } from './matrix.js';
import type { CellRanking } from './ranking.js';
import type { Series } from './series.js';

/** One policy over all cells in which every policy has a result. */
export interface PolicyOverview {
  readonly name: string;
  readonly kind: string;
  /** Keys of options for which each cell took the best value. */
  readonly tuned: readonly string[];
  /** Mean share of the bound; the interval is over seeds or slices if all cells have the same ones. */
  readonly share: Estimate;
  /** Mean share by seed, under `all` if cells have different ones. */
  readonly sample: Sample;
  readonly worst: { readonly share: number; readonly cell: string };
  readonly meanRank: number;
  /** Number of cells in which no other policy is better. */
  readonly bestIn: number;
  readonly loadsPerS: number | null;
  /** Lowest attainment of a model ÷ overall attainment in any cell; null if not known. */
  readonly worstModel: number | null;
}

type RankedCell = MatrixCell & { readonly ranking: CellRanking };

/** Figures of each series over `cells`, which have results of all. */
export function overviewOf(series: readonly Series[], cells: readonly RankedCell[]): PolicyOverview[] {
  return series.map(({ name, kind, tuned }, i) => {
    const outcomes = cells.map(({ results }) => results[i]!);
    const shares = outcomes.map(({ share }) => share.mean);
    const lowest = shares.indexOf(Math.min(...shares));
    const worstModels = outcomes.flatMap(({ worstModel }) => worstModel ?? []);
    return {
      name,
      kind,
      tuned,
      share: estimateOf(overCells(cells, i)),
      sample: overCells(cells, i),
      worst: { share: shares[lowest]!, cell: cells[lowest]!.label },
      meanRank: meanOf(cells.map(({ ranking }) => ranking.ranks[i]!)),
      bestIn: cells.filter(({ ranking }) => ranking.ranks[i] === 1).length,
      loadsPerS: meanOfKnown(outcomes.map(({ loadsPerS }) => loadsPerS)),
      worstModel: worstModels.length === 0 ? null : Math.min(...worstModels),
    };
  });
}

/** Mean over cells for each seed and each time slice; of cells alone if they have different ones. */
function overCells(cells: readonly MatrixCell[], i: number): Sample {
  const samples = cells.map(({ results }) => results[i]!.sample);
  const [{ bySeed, influences }] = samples as [Sample];
  const seeds = Object.keys(bySeed);
  const same = samples.every(
    (own) => Object.keys(own.bySeed).join() === seeds.join() && own.influences?.length === influences?.length,
  );
  if (!same) return { bySeed: { all: meanOf(cells.map(({ results }) => results[i]!.share.mean)) } };
  const meanBySeed = seeds.map((seed) => [seed, meanOf(samples.map((own) => own.bySeed[seed]!))]);
  return {
    bySeed: Object.fromEntries(meanBySeed),
    ...(influences === undefined
      ? {}
      : { influences: influences.map((_, at) => meanOf(samples.map((own) => own.influences![at]!))) }),
  };
}
