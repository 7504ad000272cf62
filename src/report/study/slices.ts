import type { SweepResults } from '../../record/results.js';
import { groupBy } from '../lists.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import { type Axis, fixedValues, sweepAxes } from './axes.js';
import { choiceLabel } from './finding.js';
import { aggregate, type Point, sortPoints } from './points.js';

/** A plane of a sweep: one key along x, at most one more as series, all others fixed. */
export interface Slice {
  readonly x: Axis;
  readonly series: Axis | null;
  readonly fixed: Readonly<Record<string, string>>;
  /** The fixed values, and keys with a single value in the whole sweep: `policy edf, admission none`; may be empty. */
  readonly common: string;
  /** Points along x, ascending by series, then by x. */
  readonly points: readonly Point[];
  /** Points without a place along x, shown next to it. */
  readonly offAxis: readonly OffAxis[];
}

/** The value `auto` of an otherwise numeric key along x, or another choice for which that key is meaningless. */
interface OffAxis {
  readonly label: string;
  /** Ascending by series. */
  readonly points: readonly Point[];
}

/**
 * Cuts a sweep into planes for charts. Along x runs a number that can be chosen (schedule_ahead before others), else
 * any number, else the first key; the series is the SLO, else a given key, else the next; every combination of the
 * remaining keys makes a slice. Choices for which the key along x is meaningless make no slice: they are drawn next to
 * the axis of the slices with the same conditions.
 */
export function sliceSweep(results: SweepResults): Slice[] {
  const all = aggregate(results);
  // A key without effect anywhere has no place in any point.
  const axes = sweepAxes(results).filter(({ key }) => all.some(({ values }) => values[key] !== undefined));
  const x = first(axes, [isScheduleAhead, isNumericChoice, isNumber]);
  if (x === null) return [];
  const others = axes.filter((axis) => axis !== x);
  const series = first(others, [(axis) => axis.key === 'slo', (axis) => !axis.isChoice]);
  const rest = others.filter((axis) => axis !== series);

  const points = sortPoints(all, [...rest, ...(series === null ? [] : [series]), x]);
  const hasX = (point: Point) => point.values[x.key] !== undefined;
  const withX = groupBy(points.filter(hasX), (point) => JSON.stringify(fixedOf(point, rest)));
  const withoutX = points.filter((point) => !hasX(point));
  const isWord = (point: Point) =>
    x.values.some(({ text, isWord: is }) => is && text === point.values[x.key]);
  const plane = (fixed: Slice['fixed']) => {
    return { x, series, fixed, common: valuesLabel({ ...fixed, ...fixedValues(results) }) };
  };
  const slices = [...withX.values()].map((members): Slice => {
    const fixed = fixedOf(members[0]!, rest);
    // Another policy has other defaults: the rule of the file's own choice does not belong there.
    const isUsual = rest.every(
      ({ key, isChoice, default: usual }) =>
        !isChoice || fixed[key] === undefined || fixed[key] === usual?.text,
    );
    const same = withoutX.filter((point) => sharesConditions(point, fixed, rest));
    return {
      ...plane(fixed),
      ...(isUsual ? {} : { x: { ...x, default: null } }),
      points: members.filter((point) => !isWord(point)),
      offAxis: [
        ...offAxisOf(members.filter(isWord), (point) => valueLabel(point.values[x.key]!)),
        ...offAxisOf(same, (point) => choiceLabel(point.choice)),
      ],
    };
  });
  const shown = new Set(slices.flatMap(({ offAxis }) => offAxis.flatMap((one) => one.points)));
  const orphans = withoutX.filter((point) => !shown.has(point));
  const givens = rest.filter(({ isChoice }) => !isChoice);
  const places = groupBy(orphans, (point) => JSON.stringify(fixedOf(point, givens)));
  return [
    ...slices,
    ...[...places.values()].map((members) => ({
      ...plane(fixedOf(members[0]!, givens)),
      points: [],
      offAxis: offAxisOf(members, (point) => choiceLabel(point.choice)),
    })),
  ];
}

/** The points along x, then those next to the axis. */
export function allPoints({ points, offAxis }: Slice): Point[] {
  return [...points, ...offAxis.flatMap((one) => one.points)];
}

/** Names of a slice's points along x: their value there, or their label next to the axis. */
interface NamesAlongX {
  /** Labels of values along x, then of points next to the axis. */
  readonly labels: readonly string[];
  of(point: Point): string;
}

export function namesAlongX({ x, offAxis }: Slice): NamesAlongX {
  const off = new Map(offAxis.flatMap(({ label, points }) => points.map((point) => [point, label] as const)));
  const along = new Map(x.values.map(({ text, label }) => [text, label]));
  return {
    labels: [...new Set([...along.values(), ...offAxis.map(({ label }) => label)])],
    of: (point) => off.get(point) ?? along.get(point.values[x.key] ?? '') ?? '',
  };
}

const isScheduleAhead = (axis: Axis): boolean => axis.key === 'policy.scheduleAhead';
const isNumericChoice = (axis: Axis): boolean => axis.isChoice && isNumber(axis);
const isNumber = (axis: Axis): boolean => axis.kind === 'number';

/** First axis that meets the earliest wish met by any; else the first. */
function first(axes: readonly Axis[], wishes: readonly ((axis: Axis) => boolean)[]): Axis | null {
  for (const wish of wishes) {
    const found = axes.find(wish);
    if (found !== undefined) return found;
  }
  return axes[0] ?? null;
}

function fixedOf({ values }: Point, rest: readonly Axis[]): Record<string, string> {
  return Object.fromEntries(
    rest.flatMap(({ key }) => (values[key] === undefined ? [] : [[key, values[key]] as const])),
  );
}

/** True if the point has the given conditions of a slice, its policy aside. */
function sharesConditions(
  point: Point,
  fixed: Readonly<Record<string, string>>,
  rest: readonly Axis[],
): boolean {
  return rest.every(({ key, isChoice }) => isChoice || point.values[key] === fixed[key]);
}

function offAxisOf(points: readonly Point[], labelOf: (point: Point) => string): OffAxis[] {
  return [...groupBy(points, labelOf)].map(([label, members]) => ({ label, points: members }));
}
