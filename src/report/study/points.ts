import { gpuHoursOf } from '../../record/figures.js';
import { offeredMs } from '../../record/latency.js';
import type {
  CellResult,
  CostFigures,
  FinishedCell,
  RequestFigures,
  SweepResults,
} from '../../record/results.js';
import type { CellText } from '../document.js';
import { groupBy } from '../lists.js';
import { keyLabel, parseQuantity, valueLabel } from '../quantity.js';
import {
  differenceOf,
  type Estimate,
  estimate,
  estimateOf,
  influencesOf,
  isOneSample,
  meanOf,
  type Sample,
  type SlicedFigure,
} from '../statistics.js';

/** One varied key, ready for a chart. */
export interface Axis {
  readonly key: string;
  readonly label: string;
  /** `schedule_ahead (ms)`. */
  readonly title: string;
  /** Empty for plain numbers and for names. */
  readonly unit: string;
  /** A numeric axis may have words among its values, such as `auto`. */
  readonly kind: 'number' | 'category';
  /** True if the operator chooses it (policy, cluster, scaler), false if it is given (SLO, workload, models). */
  readonly isChoice: boolean;
  /** Numbers ascend, words after them; names are in the order of the sweep. */
  readonly values: readonly AxisValue[];
  /** Value without overrides, even if the sweep did not run it. */
  readonly default: AxisValue | null;
}

interface AxisValue {
  /** As written. */
  readonly text: string;
  readonly label: string;
  /** Position on a numeric axis, rank on one of names. For a word on a numeric axis: a place after all numbers. */
  readonly at: number;
  /** True for a word on a numeric axis. */
  readonly isWord: boolean;
}

/** Keys of a sweep with more than one value, in its order. A key with one is useless in a table or a label. */
export function sweepAxes(results: Pick<SweepResults, 'vary' | 'defaults'>): Axis[] {
  return results.vary
    .filter(({ values }) => values.length > 1)
    .map(({ key, values }) => axis(key, values, results.defaults[key]));
}

/** Keys with a single value, with that value. */
export function fixedValues({ vary }: Pick<SweepResults, 'vary'>): Record<string, string> {
  return Object.fromEntries(
    vary.flatMap(({ key, values }) => (values.length === 1 ? [[key, values[0] as string]] : [])),
  );
}

function axis(key: string, texts: readonly string[], defaultText: string | undefined): Axis {
  const numbers = texts.flatMap((text) => parseQuantity(text) ?? []);
  const unit = numbers[0]?.unit ?? '';
  // A line needs two points.
  const numeric = numbers.length > 1 && numbers.every((number) => number.unit === unit);
  const last = Math.max(...numbers.map(({ value }) => value));
  const place = (text: string, rank: number): AxisValue => {
    const number = numeric ? parseQuantity(text) : null;
    const isWord = numeric && number === null;
    return { text, label: valueLabel(text), at: number?.value ?? (isWord ? last + 1 + rank : rank), isWord };
  };
  const values = texts.map(place).sort((a, b) => a.at - b.at);
  const label = keyLabel(key);
  return {
    key,
    label,
    title: numeric && unit !== '' ? `${label} (${unit})` : label,
    unit: numeric ? unit : '',
    kind: numeric ? 'number' : 'category',
    isChoice: /^(policy|cluster|scaler)(\.|$)/.test(key),
    values,
    default: defaultText === undefined ? null : findValue(values, place(defaultText, -1), numeric),
  };
}

/** The value of an axis in a table; numbers sort by size. */
export function placeCell({ key, kind, values }: Axis, at: Readonly<Record<string, string>>): CellText {
  const place = values.find(({ text }) => text === at[key]);
  return { text: valueLabel(at[key] ?? '–'), ...(kind === 'number' ? { sort: place?.at ?? 0 } : {}) };
}

/** The default by the name that the sweep uses for it: `10ms` and `0.01s` are the same value. */
function findValue(values: readonly AxisValue[], wanted: AxisValue, numeric: boolean): AxisValue | null {
  const same = values.find(
    (value) => value.text === wanted.text || (numeric && !wanted.isWord && value.at === wanted.at),
  );
  return same ?? (wanted.isWord ? null : wanted);
}

/** Differences below this share of the whole count as none. */
const TIE = 0.001;

/**
 * True if `a` scores better than `b`: by 0.1 % of `whole` or more on average, and the 95 % confidence interval of the
 * difference excludes 0. Seeds and time slices have the same arrivals, so scores of one of them can be compared. With a
 * single common seed and no slices the difference alone decides; with nothing in common, the intervals of the two must
 * not overlap.
 */
export function isBetter(a: Sample, b: Sample, whole: number): boolean {
  const difference = differenceOf(a, b);
  if (difference === null) return estimateOf(a).low > estimateOf(b).high;
  return difference.mean >= TIE * whole && difference.low > 0;
}

/** Ranking of candidates. */
export interface Standing<T> {
  /** The one to choose: no other has a higher mean. */
  readonly best: T;
  /** It and those with equal means. In the given order. */
  readonly equal: readonly T[];
  /** The others indistinguishable from it. In the given order. */
  readonly tied: readonly T[];
}

/**
 * The one rule for the best, in tables, sentences, rings and recommendations: the highest mean, and every candidate
 * that is not significantly worse ties with it. Further measures, if `scoresOf` returns any, decide only between equal
 * means. `whole`: base of the 0.1 %; default: the highest mean. `candidates` must not be empty.
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

/** All finished repetitions of one combination of values. */
export interface Point {
  /** Values of the keys that have several values in the sweep and that matter here. */
  readonly values: Readonly<Record<string, string>>;
  /** The part of them that can be chosen: policy, cluster, scaler. */
  readonly choice: Readonly<Record<string, string>>;
  /** Null, like the offered load: the runs have no span. */
  readonly goodputRps: Estimate | null;
  readonly offeredRps: Estimate | null;
  /** Share of offered requests answered within their SLO, over the repetitions that offered any; null: none did. */
  readonly attainment: Estimate | null;
  /**
   * Mean latency over all offered requests; Infinity if it falls, in a repetition, on a request that was not answered
   * in time, null if nothing was offered.
   */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Cost of the GPUs, and of a million requests in time (null: there were none); null if they have no prices. */
  readonly cost: CostFigures | null;
  /** GPU-hours paid for; null if not known. */
  readonly gpuHours: number | null;
  /** Attainment by weight; null: there are no classes, or they offered nothing. */
  readonly weighted: Estimate | null;
  /** Goodput and offered load by weight; without classes those of requests. */
  readonly weightedGoodputRps: Estimate | null;
  readonly weightedOfferedRps: Estimate | null;
  /**
   * One per class if there are any, or per workload section if there are several, or for all requests if some run of
   * the sweep has no goodput; else empty.
   */
  readonly groups: readonly GroupPoint[];
  /** True if no seed changes its run. */
  readonly isOneSample: boolean;
  /** In the order of the seeds. */
  readonly cells: readonly FinishedCell[];
}

/** A point whose goodput is known. */
type RatedPoint = Point & Readonly<Record<'weightedGoodputRps' | 'weightedOfferedRps', Estimate>>;

/** Results of one group of users. */
export interface GroupPoint extends Pick<Point, 'p99Ms'> {
  readonly name: string;
  /** Null where requests differ. */
  readonly sloMs: number | null;
  /** Over the repetitions in which it offered requests; null if there are none. */
  readonly attainment: Estimate | null;
}

/** A group that offered requests. */
interface ServedGroup extends GroupPoint {
  readonly attainment: Estimate;
}

/** Results of a group in one run. */
type GroupLike = RequestFigures & { readonly key: string; readonly sloMs?: number | null };

/** Cache, since pages ask for the same sweep again and again, and compare points by identity. */
const KNOWN = new WeakMap<SweepResults, readonly Point[]>();

/** Mean over seeds for each combination of values, in the order of the grid. Failed cells are left out. */
export function aggregate(results: SweepResults): readonly Point[] {
  const points = KNOWN.get(results) ?? pointsOf(results);
  KNOWN.set(results, points);
  return points;
}

function pointsOf(results: SweepResults): Point[] {
  const axes = sweepAxes(results);
  const done = results.cells.filter((cell) => cell.status === 'done');
  const hasGoodput = done.every(({ result }) => result.summary.goodputRps !== null);
  const points = groupBy(done, ({ values }) => JSON.stringify(axes.map(({ key }) => values[key])));
  return [...points.values()].map((cells) => pointOf(cells, axes, hasGoodput));
}

/** The group with the smallest share in time; null if no group offered requests. */
export function worstGroup({ groups }: Pick<Point, 'groups'>): ServedGroup | null {
  const [first, ...others] = groups.filter(hasOffered);
  return others.reduce<ServedGroup | null>(
    (worst, group) => (worst !== null && group.attainment.mean < worst.attainment.mean ? group : worst),
    first ?? null,
  );
}

/** True if the group offered requests. */
export function hasOffered(group: GroupPoint): group is ServedGroup {
  return group.attainment !== null;
}

/** Points whose runs have a span. */
export function ratedPoints(points: readonly Point[]): RatedPoint[] {
  return points.filter((point): point is RatedPoint => point.weightedGoodputRps !== null);
}

/**
 * Score of a choice: goodput; if requests have weights, the share of the weight that was served; with groups, the
 * attainment of the worst-served one: goodput of one group does not make up for missed SLOs of another.
 */
export function scoreOf(point: Point): number {
  return point.weighted?.mean ?? worstGroup(point)?.attainment.mean ?? point.goodputRps?.mean ?? 0;
}

/** The score in words. */
export function measureOf({ weighted, groups }: Pick<Point, 'weighted' | 'groups'>): string {
  if (weighted !== null) return 'attainment by weight';
  if (groups.length === 0) return 'goodput';
  return groups.length > 1 ? 'attainment of the worst group' : 'attainment';
}

/** Scores seed by seed or slice by slice, as for `standingOf`; of groups that tie, goodput decides. */
export function scoresOf(point: Point): Sample[] {
  const scores = (figure: SlicedFigure, read: (result: CellResult) => number | null) =>
    sampleOf(point.cells, figure, (result) => read(result) ?? 0)!;
  if (point.weighted !== null)
    return [scores(BY_WEIGHT, ({ summary }) => summary.weightedAttainment ?? null)];
  const group = worstGroup(point);
  const worst = group === null ? -1 : point.groups.indexOf(group);
  return [
    ...(worst < 0
      ? []
      : [
          scores(
            { of: 'attainment', isCounted: (_, i) => i === worst },
            (result) => senderGroupsOf(result, false)[worst]!.attainment,
          ),
        ]),
    scores({ of: 'goodputRps' }, ({ summary }) => summary.goodputRps),
  ];
}

const BY_WEIGHT: SlicedFigure = { of: 'attainment', weighted: true };

/** A figure of the runs that have it; null if none has. */
function sampleOf(
  cells: readonly FinishedCell[],
  figure: SlicedFigure | null,
  read: (result: CellResult) => number | null,
): Sample | null {
  const known = cells.flatMap(({ seed, result }) => {
    const value = read(result);
    return value === null ? [] : [{ seed, value, result }];
  });
  if (known.length === 0) return null;
  const bySeed = Object.fromEntries(known.map(({ seed, value }) => [seed, value]));
  return {
    bySeed,
    ...(figure === null
      ? {}
      : influencesOf(
          known.map(({ result }) => result),
          figure,
        )),
  };
}

/** Points in ascending order of the given axes, the first deciding first. */
export function sortPoints(points: readonly Point[], axes: readonly Axis[]): Point[] {
  const ranks = axes.map((axis) => new Map(axis.values.map(({ text }, rank) => [text, rank])));
  const rank = (point: Point, i: number): number =>
    ranks[i]?.get(point.values[axes[i]?.key ?? ''] ?? '') ?? -1;
  return [...points].sort((a, b) => {
    for (let i = 0; i < axes.length; i++) {
      const order = rank(a, i) - rank(b, i);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function pointOf(cells: readonly FinishedCell[], axes: readonly Axis[], hasGoodput: boolean): Point {
  const summaries = cells.map((cell) => cell.result.summary);
  const all = (cells[0] as FinishedCell).values;
  const pick = (wanted: readonly Axis[]) =>
    Object.fromEntries(
      wanted.flatMap(({ key }) => (all[key] === undefined ? [] : [[key, all[key]] as const])),
    );
  const figure = (sliced: SlicedFigure | null, read: (result: CellResult) => number | null) =>
    estimated(sampleOf(cells, sliced, read));
  return {
    values: pick(axes),
    choice: pick(axes.filter(({ isChoice }) => isChoice)),
    goodputRps: figure({ of: 'goodputRps' }, ({ summary }) => summary.goodputRps),
    offeredRps: figure(null, ({ summary }) => summary.offeredRps),
    attainment: figure({ of: 'attainment' }, ({ summary }) => summary.attainment),
    p50Ms: meanLatency(summaries, 'p50'),
    p99Ms: meanLatency(summaries, 'p99'),
    cost: costOf(summaries),
    gpuHours: meanOfAll(summaries.map(gpuHoursOf)),
    weighted: figure(BY_WEIGHT, ({ summary }) => summary.weightedAttainment ?? null),
    weightedGoodputRps: figure(
      { of: 'goodputRps', weighted: true },
      ({ summary }) => summary.weightedGoodputRps ?? summary.goodputRps,
    ),
    weightedOfferedRps: figure(null, ({ summary }) => summary.weightedOfferedRps ?? summary.offeredRps),
    groups: groupsOf(cells, hasGoodput),
    isOneSample: isOneSample(cells.map(({ result }) => result)),
    cells,
  };
}

/** Mean over repetitions; null if their GPUs have no prices. */
export function costOf(summaries: readonly CellResult['summary'][]): CostFigures | null {
  const costs = summaries.flatMap(({ cost }) => cost ?? []);
  if (costs.length < summaries.length) return null;
  const perMillion = costs.flatMap(({ perMillionInTime }) => perMillionInTime ?? []);
  return {
    perHour: meanOf(costs.map(({ perHour }) => perHour)),
    perMillionInTime: perMillion.length < costs.length ? null : meanOf(perMillion),
  };
}

function groupsOf(cells: readonly FinishedCell[], hasGoodput: boolean): GroupPoint[] {
  const senders = cells.map(({ result }) => senderGroupsOf(result, hasGoodput));
  const isClass = cells[0]!.result.summary.by.class !== undefined;
  return (senders[0] ?? []).map(({ key: name, sloMs = null }, i) => {
    const isCounted: SlicedFigure['isCounted'] = (section) =>
      (isClass ? section.class : section.group) === name;
    const attained = sampleOf(
      cells,
      { of: 'attainment', isCounted },
      (result) => senderGroupsOf(result, hasGoodput)[i]!.attainment,
    );
    const all = senders.map((each) => each[i]!);
    return { name, sloMs, attainment: estimated(attained), p99Ms: meanLatency(all, 'p99') };
  });
}

/** Groups of senders: classes before sections of the workload; all requests are one group if goodput is not known. */
function senderGroupsOf({ summary, sloMs }: CellResult, hasGoodput: boolean): readonly GroupLike[] {
  const { class: classes, group = [] } = summary.by;
  if (classes !== undefined) return classes;
  return group.length > 0 || hasGoodput ? group : [{ ...summary, key: 'all requests', sloMs }];
}

function estimated(sample: Sample | null): Estimate | null {
  return sample === null ? null : estimateOf(sample);
}

/** A group of one run. */
export function groupPoint(group: GroupLike): GroupPoint {
  const { key: name, sloMs = null, attainment } = group;
  const attained = attainment === null ? null : estimate([attainment]);
  return { name, sloMs, attainment: attained, p99Ms: offeredMs(group, 'p99') };
}

function meanLatency(
  repetitions: readonly Pick<RequestFigures, 'offeredLatencyMs' | 'requests'>[],
  name: 'p50' | 'p99',
): number | null {
  return meanOfAll(repetitions.map((repetition) => offeredMs(repetition, name)));
}

/** Null if one is not known. */
function meanOfAll(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? meanOf(known) : null;
}
