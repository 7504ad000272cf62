import type { SweepResults } from '../../record/results.js';
import { formatFactor } from '../../text/numbers.js';
import { keyLabel, valuesLabel } from '../quantity.js';
import { sweepAxes } from './axes.js';
import { aggregate, type Point, scoreOf } from './points.js';

/**
 * The best of a sweep's cases under each condition: `batches of near lengths is best at all 4, 1.96 to 3.89 times the
 * next`. Empty unless exactly one axis has cases.
 */
export function bestCaseText(results: SweepResults): string {
  const axes = sweepAxes(results);
  // Keys of the experiment have a default; the names of cases have none.
  const named = axes.filter((axis) => axis.default === null && !axis.key.includes('.'));
  const [axis] = named;
  if (axis === undefined || named.length > 1) return '';
  const places = new Map<string, Point[]>();
  for (const point of aggregate(results)) {
    const others = Object.entries(point.values).filter(([key]) => key !== axis.key);
    const place = valuesLabel(Object.fromEntries(others));
    places.set(place, [...(places.get(place) ?? []), point]);
  }
  const bests = [...places].flatMap(([place, points]) => {
    const [first, second] = [...points].sort((a, b) => scoreOf(b) - scoreOf(a));
    if (first === undefined || second === undefined) return [];
    return [{ place, name: first.values[axis.key]!, factor: scoreOf(first) / scoreOf(second) }];
  });
  const names = [...new Set(bests.map(({ name }) => name))];
  const what = keyLabel(axis.key);
  if (names.length === 1) {
    const factors = bests.map(({ factor }) => factor).filter(Number.isFinite);
    if (factors.length === 0) return '';
    const [low, high] = [Math.min(...factors), Math.max(...factors)].map(formatFactor);
    const where = bests.length === 1 ? '' : ` under all ${bests.length} conditions`;
    return `The best ${what}${where}: ${names[0]}, ${low === high ? low : `${low} to ${high}`} the next.`;
  }
  return `The best ${what}: ${bests.map(({ place, name }) => `${name} at ${place}`).join(', ')}.`;
}
