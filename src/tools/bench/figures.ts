import type { Estimate } from '../../report/statistics.js';
import { formatCount, formatRate, round3, significant } from '../../text/numbers.js';

/** `5,210 ± 90`: mean and standard deviation. */
export function spreadText({ mean, sd, n }: Estimate): string {
  const middle = rateText(mean);
  return n < 2 ? middle : `${middle} ± ${rateText(significant(sd, 2))}`;
}

/** Three digits, and whole numbers from 1,000 on. */
export function rateText(value: number): string {
  return value >= 1000 ? formatCount(value) : formatRate(round3(value));
}

/** `93 %`. */
export function shareText(share: number): string {
  return share > 0 && share < 0.005 ? '<1 %' : `${Math.round(100 * share)} %`;
}
