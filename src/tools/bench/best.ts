import type { Estimate } from '../../report/statistics.js';
import { isAbove } from './difference.js';

/** Index of the largest, if it is above every other beyond the noise of both; null: no value is surely the best. */
export function surelyBest(estimates: readonly Estimate[]): number | null {
  if (estimates.length < 2) return null;
  const best = estimates.reduce((top, { mean }, i) => (mean > estimates[top].mean ? i : top), 0);
  const wins = estimates.every((other, i) => i === best || isAbove(estimates[best], other));
  return wins ? best : null;
}
