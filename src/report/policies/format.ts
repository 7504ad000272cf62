import type { Estimate } from '../statistics.js';

/** A share as percent with one digit: `94.2`. 100.0 is written only for all of it. */
export function percentText(share: number): string {
  const percent = share * 100;
  return (percent < 100 && percent >= 99.95 ? 99.9 : percent).toFixed(1);
}

/** The same with half of its 95 % confidence interval where there is one: `94.2 ± 0.3`. */
export function intervalText({ mean, high, n }: Estimate): string {
  return n < 2 ? percentText(mean) : `${percentText(mean)} ± ${((high - mean) * 100).toFixed(1)}`;
}

/** A gap in percentage points: `1.2`. */
export function behindText(share: number): string {
  return (share * 100).toFixed(share < 0.001 ? 2 : 1);
}

/** How many times as much, two digits: `0.08×`; `–` where that is not known. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return '–';
  return `${ratio >= 10 ? ratio.toFixed(0) : ratio >= 1 ? ratio.toFixed(1) : String(Number(ratio.toPrecision(2)))}×`;
}
