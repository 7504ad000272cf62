import { EscapementError } from '../../base/errors.js';
import { ratioOf } from '../../record/counted.js';
import type { CellResult, FailedCell, SweepResults } from '../../record/results.js';
import { plural } from '../../text/words.js';
import { groupBy } from '../lists.js';
import { keyLabel, valueLabel } from '../quantity.js';
import { type Senders, sendersOf } from '../senders.js';
import {
  certaintyText,
  type Estimate,
  estimate,
  estimateOf,
  influencesOf,
  isOneSample,
  meanOf,
  meanOfKnown,
  type Sample,
  scaledSample,
} from '../statistics.js';
import { failedCells } from '../study/analyze.js';
import { type Axis, isBetter, standingOf, sweepAxes } from '../study/points.js';
import { conditionsOf, type PolicyRun, runsOf, type Series, seriesOf } from './series.js';

/** A sweep with the name of its folder. */
export interface NamedSweep {
  readonly name: string;
  readonly results: SweepResults;
}

/** Policies over a matrix of conditions. Series are named once, in `policies`; arrays elsewhere are in its order. */
export interface PolicyComparison {
  readonly sweep: NamedSweep;
  /** Conditions with more than one value, in the order of the layout: rows, columns, x. */
  readonly axes: readonly Axis[];
  /** True if shares are of a bound; false: no cell has one, and shares are of the offered load. */
  readonly bounded: boolean;
  readonly cells: readonly MatrixCell[];
  /** Figures over all cells in which every policy has a result. */
  readonly policies: readonly PolicyOverview[];
  /** Number of those cells. */
  readonly completeCells: number;
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
  const cells = matrixOf(axes, series);
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
    failed: failedCells(results),
    warnings: aboveBound(cells, series),
  };
}

/** Source of the intervals and ranks, for people. */
export function certaintyOf({ cells, sweep }: Pick<PolicyComparison, 'cells' | 'sweep'>): string {
  const shares = cells.flatMap(({ results }) => results.map((result) => result?.share ?? null));
  return certaintyText(sweep.results.seeds.length, shares);
}

function axesOf(results: SweepResults): Axis[] {
  const varied = sweepAxes({ vary: conditionsOf(results), defaults: {} });
  const { x, columns, rows } = layoutOf(varied);
  return [...rows, ...(columns === null ? [] : [columns]), ...(x === null ? [] : [x])];
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
  /** Mean share of the bound; the interval is over seeds if all cells have the same ones. */
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

/** Figures of each series over `cells`, which have results of all. */
function overviewOf(series: readonly Series[], cells: readonly MatrixCell[]): PolicyOverview[] {
  return series.map(({ name, kind, tuned }, i) => {
    const outcomes = cells.map(({ results }) => results[i]!);
    const shares = outcomes.map(({ share }) => share.mean);
    const lowest = shares.indexOf(Math.min(...shares));
    const worstModels = outcomes.flatMap(({ worstModel }) => worstModel ?? []);
    const sample = overCells(cells, i);
    return {
      ...{ name, kind, tuned, sample, share: estimateOf(sample) },
      worst: { share: shares[lowest]!, cell: cells[lowest]!.label },
      meanRank: meanOf(cells.map(({ ranking }) => ranking.ranks[i]!)),
      bestIn: cells.filter(({ ranking }) => ranking.ranks[i] === 1).length,
      loadsPerS: meanOfKnown(outcomes.map(({ loadsPerS }) => loadsPerS)),
      worstModel: worstModels.length === 0 ? null : Math.min(...worstModels),
    };
  });
}

/** Mean over cells for each seed; of cells alone if they have different ones. */
function overCells(cells: readonly MatrixCell[], i: number): Sample {
  const samples = cells.map(({ results }) => results[i]!.sample);
  const seeds = Object.keys(samples[0]!.bySeed);
  const same = samples.every((own) => Object.keys(own.bySeed).join() === seeds.join());
  if (!same) return { bySeed: { all: meanOf(cells.map(({ results }) => results[i]!.share.mean)) } };
  const meanBySeed = seeds.map((seed) => [seed, meanOf(samples.map((own) => own.bySeed[seed]!))]);
  return { bySeed: Object.fromEntries(meanBySeed) };
}

/** One combination of conditions, with the results of every policy. */
interface MatrixCell {
  readonly values: Readonly<Record<string, string>>;
  /** `15 models 1 GPU · load 0.8 · SLO 10 ms`; never empty. */
  readonly label: string;
  /**
   * Highest goodput that any scheduler could have reached, requests/s, by weight if requests have weights; the offered
   * load if no bound is known; null: the runs have no span.
   */
  readonly boundRps: Estimate | null;
  /** True if a bound is known for every seed. */
  readonly bounded: boolean;
  /** In the order of the series; null if it has no finished run. */
  readonly results: readonly (CellOutcome | null)[];
  readonly ranking: {
    /** 1 + number of better policies; null if a policy has no result. */
    readonly ranks: readonly (number | null)[];
    /** Series with the highest mean. */
    readonly top: number;
  };
}

/** Results of one policy in one cell, over seeds. */
interface CellOutcome extends Senders {
  /** Null: the runs have no span. */
  readonly goodputRps: Estimate | null;
  /** Goodput as a share of the bound, run by run; without a span, the share of offered requests answered in time. */
  readonly share: Estimate;
  /** Shares by seed and by time slice: all policies have the same arrivals for a seed. */
  readonly sample: Sample;
  readonly isOneSample: boolean;
  readonly loadsPerS: number | null;
  /** Attainment of the worst-served model ÷ attainment over all requests; null if not known. */
  readonly worstModel: number | null;
  /** Best value of each tuned option here. */
  readonly tuned: Readonly<Record<string, string>>;
}

/** All cells in the order of the axes, the last one varying fastest; those without any run are left out. */
function matrixOf(axes: readonly Axis[], series: readonly Series[]): MatrixCell[] {
  const bySeries = series.map(({ runs }) => groupBy(runs, ({ place }) => placeName(place, axes)));
  return combinations(axes).flatMap((values) => {
    const name = placeName(values, axes);
    const runs = bySeries.map((places) => places.get(name) ?? []);
    const all = runs.flat();
    if (all.length === 0) return [];
    const bounds = boundsOf(all);
    const rates = [...bounds.values()].flatMap(({ rps }) => rps ?? []);
    const results = runs.map((members, i) =>
      members.length === 0 ? null : outcomeOf(members, series[i]!, bounds),
    );
    return [
      {
        values,
        label: axes.length === 0 ? 'the only cell' : placeLabel(values, axes),
        boundRps: rates.length === 0 ? null : estimate(rates),
        bounded: [...bounds.values()].every(({ known }) => known),
        ...{ results, ranking: rankingOf(results) },
      },
    ];
  });
}

/** Ranks the policies of a cell. Rank 1: no other policy is better. */
function rankingOf(results: MatrixCell['results']): MatrixCell['ranking'] {
  const present = results.flatMap((result, i) => (result === null ? [] : [{ ...result, i }]));
  const rank = ({ sample }: CellOutcome) =>
    1 + present.filter((other) => isBetter(other.sample, sample, 1)).length;
  return {
    ranks: results.map((result) => result && rank(result)),
    top: standingOf(present, ({ sample }) => [sample], 1).best.i,
  };
}

interface Bound {
  readonly rps: number | null;
  readonly known: boolean;
}

/**
 * Bound of each seed. It depends on arrivals and GPUs but on no policy, so runs may share it; if options of policies
 * have changed it, the largest holds for all.
 */
function boundsOf(runs: readonly PolicyRun[]): Map<number, Bound> {
  return new Map(
    [...groupBy(runs, ({ seed }) => seed)].map(([seed, members]) => {
      const known = members.flatMap(({ result }) => result.bound?.weightedRps ?? result.bound?.bestRps ?? []);
      const offered = members.flatMap(({ result }) => offeredOf(result) ?? []);
      const rates = known.length > 0 ? known : offered;
      return [seed, { rps: rates.length === 0 ? null : Math.max(...rates), known: known.length > 0 }];
    }),
  );
}

function outcomeOf(
  runs: readonly PolicyRun[],
  series: Series,
  bounds: ReadonlyMap<number, Bound>,
): CellOutcome {
  const chosen = bestSetting(runs, series);
  const sorted = [...chosen].sort((a, b) => a.seed - b.seed);
  const summaries = sorted.map(({ result }) => result.summary);
  const shares = sorted.map(({ seed, result }) => {
    const { rps } = bounds.get(seed)!;
    const [goodput, attained] = [goodputOf(result), attainedOf(result)];
    return (rps === null || goodput === null ? attained : ratioOf(goodput, rps)) ?? 1;
  });
  // Attainment with pipelines is from end to end, to which that of a model in a step has no relation.
  const ratios = summaries.flatMap(({ worstModel, attainment: mean, by }) =>
    worstModel === null || mean === null || mean === 0 || by.pipeline ? [] : worstModel.attainment / mean,
  );
  const [first] = sorted as [PolicyRun, ...PolicyRun[]];
  const all = sorted.map(({ result }) => result);
  const over = influencesOf(all, { of: 'goodputRps', weighted: true });
  const rates = sorted.flatMap(({ result }) => goodputOf(result) ?? []);
  const goodput = rates.length < sorted.length ? null : { bySeed: bySeed(sorted, rates), ...over };
  // Slices know no bound, but it has the same arrivals: those in time vary as their share of the bound does, or more.
  const attained = influencesOf(all, { of: 'attainment', weighted: true });
  const { rps } = bounds.get(first.seed)!;
  const { influences } = scaledSample(
    { bySeed: {}, ...attained },
    rps ? (offeredOf(first.result) ?? 0) / rps : 1,
  );
  const sample = { bySeed: bySeed(sorted, shares), ...(influences === undefined ? {} : { influences }) };
  return {
    goodputRps: goodput === null ? null : estimateOf(goodput),
    share: estimateOf(sample),
    sample,
    isOneSample: isOneSample(all),
    loadsPerS: meanOfKnown(
      summaries.map(({ actions, durationSeconds }) => ratioOf(actions.load, durationSeconds)),
    ),
    worstModel: ratios.length === 0 ? null : meanOf(ratios),
    ...sendersOf(summaries),
    tuned: Object.fromEntries(series.tuned.map((key) => [key, sorted[0]!.options[key] ?? ''])),
  };
}

function bySeed(runs: readonly PolicyRun[], values: readonly number[]): Record<string, number> {
  return Object.fromEntries(runs.map(({ seed }, i) => [seed, values[i]!]));
}

/** By weight if requests have weights, like bounds. */
function goodputOf({ summary }: CellResult): number | null {
  return summary.weightedGoodputRps ?? summary.goodputRps;
}

function offeredOf({ summary }: CellResult): number | null {
  return summary.weightedOfferedRps ?? summary.offeredRps;
}

function attainedOf({ summary }: CellResult): number | null {
  return summary.weightedAttainment ?? summary.attainment;
}

/** Values within this share of the best are a tie, of which the first counts. */
const TIE = 0.001;

/** Runs with the values of tuned options that have the highest mean goodput. */
function bestSetting(runs: readonly PolicyRun[], { tuned }: Series): readonly PolicyRun[] {
  if (tuned.length === 0) return runs;
  const settings = [
    ...groupBy(runs, ({ options }) => JSON.stringify(tuned.map((key) => options[key]))).values(),
  ];
  const scores = settings.map((members) =>
    meanOf(members.map(({ result }) => goodputOf(result) ?? attainedOf(result) ?? 0)),
  );
  const enough = Math.max(...scores) * (1 - TIE);
  return settings[scores.findIndex((score) => score >= enough)]!;
}

function placeName(values: Readonly<Record<string, string>>, axes: readonly Axis[]): string {
  return JSON.stringify(axes.map(({ key }) => values[key]));
}

function combinations(axes: readonly Axis[]): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const { key, values } of axes) {
    all = all.flatMap((left) => values.map(({ text }) => ({ ...left, [key]: text })));
  }
  return all;
}

/** Arrangement of a comparison's conditions on paper. */
interface Layout {
  /** Along each small chart; null if only policies were varied. */
  readonly x: Axis | null;
  /** One chart per value, side by side. */
  readonly columns: Axis | null;
  /** Combinations of the other axes, one below the other. */
  readonly rows: readonly Axis[];
}

/**
 * The SLO goes along x, else the first number, else the first key; the load makes columns, else the next number; every
 * combination of the remaining keys makes a row.
 */
export function layoutOf(axes: readonly Axis[]): Layout {
  const numbers = axes.filter(({ kind }) => kind === 'number');
  const x = axes.find(({ key }) => key === 'slo') ?? numbers[0] ?? axes[0] ?? null;
  const isLoad = ({ key }: Axis) => key === 'load' || key.endsWith('.load');
  const columns =
    axes.filter((axis) => axis !== x).find(isLoad) ?? numbers.find((axis) => axis !== x) ?? null;
  return { x, columns, rows: axes.filter((axis) => axis !== x && axis !== columns) };
}

/** Values of these axes as words: `60 models 4 GPUs · Poisson`; a number with the name of its key. */
export function placeLabel(values: Readonly<Record<string, string>>, axes: readonly Axis[]): string {
  return axes
    .map(({ key, kind }) => {
      const label = valueLabel(values[key] ?? '');
      return kind === 'number' ? `${keyLabel(key)} ${label}` : label;
    })
    .join(' · ');
}
