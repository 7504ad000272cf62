import { ratioOf } from '../../record/counted.js';
import type { CellResult } from '../../record/results.js';
import { groupBy } from '../lists.js';
import { type Senders, sendersOf } from '../senders.js';
import {
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
import type { Axis } from '../study/axes.js';
import { placeLabel } from './layout.js';
import type { PolicyRun } from './runs.js';
import type { Series } from './series.js';

/** One combination of conditions, with the results of every policy. */
export interface MatrixCell {
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
}

/** Results of one policy in one cell, over seeds. */
interface CellOutcome extends Senders {
  /** Null: the runs have no span. */
  readonly goodputRps: Estimate | null;
  /** Goodput as a share of the bound, run by run; without a span, the share of offered requests answered in time. */
  readonly share: Estimate;
  /** Shares by seed, or over the time of a run that no seed changes: all policies have the same arrivals for a seed. */
  readonly sample: Sample;
  readonly isOneSample: boolean;
  readonly loadsPerS: number | null;
  /** Attainment of the worst-served model ÷ attainment over all requests; null if not known. */
  readonly worstModel: number | null;
  /** Best value of each tuned option here. */
  readonly tuned: Readonly<Record<string, string>>;
}

/** All cells in the order of the axes, the last one varying fastest; those without any run are left out. */
export function matrixOf(axes: readonly Axis[], series: readonly Series[]): MatrixCell[] {
  const bySeries = series.map(({ runs }) => groupBy(runs, ({ place }) => placeName(place, axes)));
  return combinations(axes).flatMap((values) => {
    const name = placeName(values, axes);
    const runs = bySeries.map((places) => places.get(name) ?? []);
    const all = runs.flat();
    if (all.length === 0) return [];
    const bounds = boundsOf(all);
    const rates = [...bounds.values()].flatMap(({ rps }) => rps ?? []);
    return [
      {
        values,
        label: axes.length === 0 ? 'the only cell' : placeLabel(values, axes),
        boundRps: rates.length === 0 ? null : estimate(rates),
        bounded: [...bounds.values()].every(({ known }) => known),
        results: runs.map((members, i) =>
          members.length === 0 ? null : outcomeOf(members, series[i]!, bounds),
        ),
      },
    ];
  });
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
  const over = influencesOf(first.result, { of: 'goodputRps', weighted: true });
  const rates = sorted.flatMap(({ result }) => goodputOf(result) ?? []);
  const goodput = rates.length < sorted.length ? null : { bySeed: bySeed(sorted, rates), ...over };
  const { rps } = bounds.get(first.seed)!;
  const { influences } = goodput === null ? {} : scaledSample(goodput, rps ? 1 / rps : 0);
  const sample = { bySeed: bySeed(sorted, shares), ...(influences === undefined ? {} : { influences }) };
  return {
    goodputRps: goodput === null ? null : estimateOf(goodput),
    share: estimateOf(sample),
    sample,
    isOneSample: isOneSample(sorted.map(({ result }) => result)),
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
