import { EscapementError } from '../../base/errors.js';
import type { FailedCell, SweepResults } from '../../record/results.js';
import { plural } from '../../text/words.js';
import { type Estimate, estimateOf, meanOf, meanOfKnown, ONE_SAMPLE, type Sample } from '../statistics.js';
import { failedCells } from '../study/analyze.js';
import { type Axis, sweepAxes } from '../study/axes.js';
import { layoutOf } from './layout.js';
import { type MatrixCell, matrixOf } from './matrix.js';
import { type CellRanking, rankCell } from './ranking.js';
import { conditionsOf, type NamedSweep, runsOf } from './runs.js';
import { OURS, type Series, seriesOf } from './series.js';

/** Policies over a matrix of conditions. Series are named once, in `policies`; arrays elsewhere are in its order. */
export interface PolicyComparison {
  readonly sweep: NamedSweep;
  /** Conditions with more than one value, in the order of the layout: rows, columns, x. */
  readonly axes: readonly Axis[];
  /** True if shares are of a bound; false: no cell has one, and shares are of the offered load. */
  readonly bounded: boolean;
  readonly cells: readonly (MatrixCell & { readonly ranking: CellRanking })[];
  /** Figures over all cells in which every policy has a result. */
  readonly policies: readonly PolicyOverview[];
  /** Number of those cells. */
  readonly completeCells: number;
  /** Index of our own policy, as it would be deployed; null if it was not run. */
  readonly ours: number | null;
  readonly failed: readonly FailedCell[];
  readonly warnings: readonly string[];
}

/**
 * Compares the policies in a sweep. Throws `E_RESULTS` if there are fewer than two, or no cell that every policy has
 * finished.
 */
export function comparePolicies(sweep: NamedSweep): PolicyComparison {
  const { name: file, results } = sweep;
  const series = seriesOf(runsOf(results));
  const axes = axesOf(results);
  if (series.length < 2) {
    const [only] = series;
    const what = `${only === undefined ? 'holds no finished run' : `ran ${only.name} only`}; compare needs a sweep that varies policy.kind, or folders of single runs; the report of a sweep compares its other choices`;
    throw new EscapementError('E_RESULTS', what, { file });
  }
  const cells = matrixOf(axes, series).map((cell) => ({ ...cell, ranking: rankCell(cell) }));
  const complete = cells.filter(({ results }) => results.every((result) => result !== null));
  if (complete.length === 0) {
    const names = series.map(({ name }) => name).join(', ');
    const what = `has no cell that every policy (${names}) has finished; run the missing ones`;
    throw new EscapementError('E_RESULTS', what, { file });
  }
  const policies = overviewOf(series, complete);
  return {
    sweep,
    axes,
    bounded: cells.some(({ bounded }) => bounded),
    cells,
    policies,
    completeCells: complete.length,
    ours: oursOf(series),
    failed: failedCells(results),
    warnings: aboveBound(cells, series),
  };
}

/** True if no seed changes any of its runs. */
function isOnce({ cells }: Pick<PolicyComparison, 'cells'>): boolean {
  return cells.every(({ results }) => results.every((result) => result?.isOneSample !== false));
}

/** Source of the intervals and ranks, for people. */
export function certaintyOf({ cells }: Pick<PolicyComparison, 'cells'>): string {
  if (isOnce({ cells })) return `each ${ONE_SAMPLE}; 95 % intervals over its time slices`;
  const counts = new Set(cells.flatMap(({ results }) => results.flatMap((result) => result?.share.n ?? [])));
  const seeds = [...counts].sort((a, b) => a - b).join(' to ');
  return seeds === '1'
    ? 'one seed: ranks go by single runs, and nothing is known of the spread between seeds'
    : `95 % intervals over ${seeds} seeds`;
}

function axesOf(results: SweepResults): Axis[] {
  const varied = sweepAxes({ vary: conditionsOf(results), defaults: {} });
  const { x, columns, rows } = layoutOf(varied);
  return [...rows, ...(columns === null ? [] : [columns]), ...(x === null ? [] : [x])];
}

/** Prefers a deployable series over one that takes the best value of each cell. */
function oursOf(series: readonly Series[]): number | null {
  const deployable = series.findIndex(({ kind, tuned }) => kind === OURS && tuned.length === 0);
  const any = deployable >= 0 ? deployable : series.findIndex(({ kind }) => kind === OURS);
  return any < 0 ? null : any;
}

/** More than rounding: nothing may exceed a bound, unless executions happen to be shorter than their profile. */
const ABOVE = 1.0005;

function aboveBound(cells: readonly MatrixCell[], series: readonly Series[]): string[] {
  const above = cells.flatMap(({ bounded, label, results }) =>
    results.flatMap((result, i) =>
      bounded && result !== null && Object.values(result.sample.bySeed).some((share) => share > ABOVE)
        ? [`${series[i]!.name} at ${label}`]
        : [],
    ),
  );
  return above.length === 0
    ? []
    : [
        `goodput exceeds the bound in ${plural(above.length, 'case')}, first by ${above[0]}: with varying execution times (cluster.noise) that can be luck, otherwise it is a bug`,
      ];
}

/** One policy over all cells in which every policy has a result. */
interface PolicyOverview {
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
function overviewOf(series: readonly Series[], cells: readonly RankedCell[]): PolicyOverview[] {
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
