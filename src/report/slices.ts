import type { SweepResults } from '../metrics/results.js';
import { type Axis, sweepAxes } from './axes.js';
import { aggregate, type Point, sortPoints } from './points.js';

/** A sweep seen as a plane: one key along x, at most one more as series, all others fixed. */
export interface Slice {
  readonly x: Axis;
  readonly series: Axis | null;
  readonly fixed: Readonly<Record<string, string>>;
  /** Ascending by series, then by x. */
  readonly points: readonly Point[];
}

/**
 * Cuts a sweep into planes for charts. Along x runs a number that can be chosen (schedule_ahead before
 * others), else any number, else the first key; the series is the SLO, else a given key, else the next;
 * every combination of the remaining keys makes a slice. Keys with one value are never x or series
 * unless nothing else was varied.
 */
export function sliceSweep(results: SweepResults): Slice[] {
  const axes = sweepAxes(results);
  const varied = axes.filter((axis) => axis.values.length > 1);
  const usable = varied.length > 0 ? varied : axes.slice(0, 1);
  const x = first(usable, [isScheduleAhead, isNumericChoice, isNumber]);
  if (x === null) return [];
  const others = usable.filter((axis) => axis !== x);
  const series = first(others, [(axis) => axis.key === 'slo', (axis) => !axis.isChoice]);
  const rest = axes.filter((axis) => axis !== x && axis !== series);

  const slices = new Map<string, { fixed: Record<string, string>; points: Point[] }>();
  for (const point of sortPoints(aggregate(results), [...rest, ...(series === null ? [] : [series]), x])) {
    const fixed = Object.fromEntries(rest.map(({ key }) => [key, point.values[key] ?? '']));
    const name = JSON.stringify(fixed);
    const slice = slices.get(name);
    if (slice === undefined) slices.set(name, { fixed, points: [point] });
    else slice.points.push(point);
  }
  return [...slices.values()].map(({ fixed, points }) => ({ x, series, fixed, points }));
}

const isScheduleAhead = (axis: Axis): boolean => axis.key === 'policy.scheduleAhead';
const isNumericChoice = (axis: Axis): boolean => axis.isChoice && isNumber(axis);
const isNumber = (axis: Axis): boolean => axis.kind === 'number';

/** The first axis that meets the earliest of the wishes that any meets; else the first. */
function first(axes: readonly Axis[], wishes: readonly ((axis: Axis) => boolean)[]): Axis | null {
  for (const wish of wishes) {
    const found = axes.find(wish);
    if (found !== undefined) return found;
  }
  return axes[0] ?? null;
}
