import type { SweepResults } from '../../record/results.js';
import { kindOfGpus, takeFleet } from '../fleet-label.js';
import { valueLabel } from '../quantity.js';
import { sweepAxes } from './axes.js';
import { fleetRanking, isRankedByPrice, priceOf } from './fleet-ranking.js';
import { aggregate, type Point, sortPoints } from './points.js';

/** A column of a table with a line for each point: the value of an axis, or of several that make a fleet. */
interface PointColumn {
  readonly title: string;
  readonly isNumber: boolean;
  textOf(point: Point): string;
  /** Sort key of a column of numbers. */
  sortOf(point: Point): number;
}

/** Columns that identify a point; numbers of GPUs of several kinds are one column. */
export function pointColumns(results: Pick<SweepResults, 'vary' | 'defaults'>): PointColumn[] {
  const axes = sweepAxes(results);
  const counts = axes.filter(({ key }) => kindOfGpus(key) !== null);
  const fleet: PointColumn = {
    title: 'fleet',
    isNumber: false,
    textOf: ({ values }) => takeFleet(values).fleet ?? '–',
    sortOf: () => 0,
  };
  return axes.flatMap((axis): PointColumn[] => {
    if (counts.length > 1 && counts.includes(axis)) return axis === counts[0] ? [fleet] : [];
    const { key, label, kind, values } = axis;
    return [
      {
        title: label,
        isNumber: kind === 'number',
        textOf: (point) => valueLabel(point.values[key] ?? '–'),
        sortOf: (point) => values.find(({ text }) => text === point.values[key])?.at ?? 0,
      },
    ];
  });
}

/**
 * Points in the order of the grid; if the price decides, for each condition those that meet the requirements by
 * ascending price, then the others by attainment.
 */
export function cheapestFirst(results: SweepResults): readonly Point[] {
  const points = aggregate(results);
  if (!isRankedByPrice(results)) return points;
  const givens = sweepAxes(results).filter(({ isChoice }) => !isChoice);
  const conditionOf = ({ conditions }: Point) => JSON.stringify(conditions);
  const sorted = sortPoints(points, givens);
  return [...new Set(sorted.map(conditionOf))].flatMap((condition) => {
    const here = sorted.filter((point) => conditionOf(point) === condition);
    const { eligible, ranking } = fleetRanking(here, results);
    const meeting = ranking === 'hour' ? eligible : [];
    const others = here.filter((point) => !meeting.includes(point));
    return [
      ...[...meeting].sort((a, b) => priceOf(a, 'hour') - priceOf(b, 'hour')),
      ...others.sort((a, b) => (b.attainment?.mean ?? -1) - (a.attainment?.mean ?? -1)),
    ];
  });
}
