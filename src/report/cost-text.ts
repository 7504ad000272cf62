import type { CostFigures } from '../record/results.js';
import { round3 } from '../text/numbers.js';

/** `12.72 per hour, 3.1 per million requests in time`: the file says in which currency. */
export function costText({ perHour, perMillionInTime }: CostFigures): string {
  const perMillion =
    perMillionInTime === null ? 'none in time' : `${price(perMillionInTime)} per million requests in time`;
  return `${price(perHour)} per hour, ${perMillion}`;
}

function price(value: number): string {
  return String(round3(value));
}
