import type { CostFigures, ScalingFigures } from '../record/results.js';
import { round3 } from '../text/numbers.js';

/** `12.72 per hour, 3.10 per million requests in time`, in the currency of the experiment. */
export function costText(cost: CostFigures): string {
  const [hour, million] = costTexts(cost);
  return `${hour} per hour, ${million} per million requests in time`;
}

/** `predictive: 12.5 GPU-hours, 3.1 GPUs on average, at most 8; 14 ordered, 12 stopped`. */
export function scalingText({
  scaler,
  gpuHours,
  meanGpus,
  mostGpus,
  ordered,
  stopped,
}: ScalingFigures): string {
  const mean = meanGpus === null ? '' : `, ${round3(meanGpus)} GPUs on average`;
  return `${scaler}: ${round3(gpuHours)} GPU-hours${mean}, at most ${mostGpus}; ${ordered} ordered, ${stopped} stopped`;
}

/** `12.70` and `3.10`, as in columns; `–` if there is no such cost. */
export function costTexts(cost: CostFigures | null): [string, string] {
  if (cost === null) return ['–', '–'];
  return [priceText(cost.perHour), cost.perMillionInTime === null ? '–' : priceText(cost.perMillionInTime)];
}

/** `3.50`, `0.125`, `1234`: at least two decimals, and below 1 three digits. */
export function priceText(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  if (value >= 1) return value.toFixed(2);
  const text = String(round3(value));
  return text.length < '0.12'.length ? value.toFixed(2) : text;
}
