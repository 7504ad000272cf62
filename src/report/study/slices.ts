import type { SweepResults } from '../../record/results.js';
import { groupBy } from '../lists.js';
import { valueLabel, valuesLabel } from '../quantity.js';
import { type Axis, aggregate, fixedValues, type Point, sortPoints, sweepAxes } from './points.js';
import { choiceLabel } from './verdict.js';

/** A plane of a sweep: one key along x, at most one more as series, all others fixed. */
export interface Slice {
  readonly x: Axis;
  readonly series: Axis | null;
  readonly fixed: Readonly<Record<string, string>>;
  /** The fixed values, and keys with a single value in the whole sweep: `policy edf, admission none`; may be empty. */
  readonly common: string;
  /** Ascending by series, then by x; those without the key along x last. */
  readonly points: readonly Point[];
}

/**
 * Cuts a sweep into planes for charts. Along x runs a number that can be chosen (schedule_ahead before others), else
 * any number, else the first key; the series is the SLO, else a given key, else the next; every combination of the
 * remaining keys makes a slice. Choices for which the key along x is meaningless are part of the slices with the same
 * conditions.
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
      points: [...members, ...same],
    };
  });
  const shown = new Set(slices.flatMap(({ points }) => points));
  const orphans = withoutX.filter((point) => !shown.has(point));
  const givens = rest.filter(({ isChoice }) => !isChoice);
  const places = groupBy(orphans, (point) => JSON.stringify(fixedOf(point, givens)));
  return [
    ...slices,
    ...[...places.values()].map((members) => ({
      ...plane(fixedOf(members[0]!, givens)),
      points: members,
    })),
  ];
}

/** Name of a point along x: its value, or its choice if it does not have that key. */
export function nameAlongX({ x }: Slice, { values, choice }: Point): string {
  const value = values[x.key];
  return value === undefined ? choiceLabel(choice) : valueLabel(value);
}

/** Place of a point on a numeric axis; null for a name, also one next to numbers, such as `auto`. */
export function placeAlongX({ x }: Slice, { values }: Point): number | null {
  const value = x.values.find(({ text }) => text === values[x.key]);
  return x.kind === 'category' || value === undefined || value.isWord ? null : value.at;
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
