import type { Point } from '../study/points.js';

/** Terms of a chart of goodput: of requests, or of their weight if they have classes. */
interface GoodputWords {
  readonly title: string;
  readonly axis: string;
  readonly unit: string;
}

/** The words for these points. */
export function goodputWords(points: readonly Point[]): GoodputWords {
  return points.some(({ weighted }) => weighted !== null)
    ? { title: 'Goodput by weight', axis: 'goodput (weight/s)', unit: 'weight/s' }
    : { title: 'Goodput', axis: 'goodput (requests/s)', unit: 'req/s' };
}
