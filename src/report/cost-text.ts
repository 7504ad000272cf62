import type { CostFigures, ScalingFigures } from '../record/results.js';
import { round3 } from '../text/numbers.js';

/** `12.72 per hour, 3.10 per million requests in time`, in the currency of the experiment. */
export function costText(cost: CostFigures): string {
  const [hour, million] = costTexts(cost);
  return `${hour} per hour, ${million} per million requests in time`;
}

/** `predictive: 12.5 GPU-hours, 3.1 GPUs on average, at most 8; 14 ordered, 84 per day, and 12 stopped: each was kept for 58 min on average`. */
export function scalingText(scaling: ScalingFigures): string {
  const { scaler, gpuHours, meanGpus, mostGpus, ordered, stopped } = scaling;
  if (meanGpus === null) return `${scaler}: at most ${mostGpus} GPUs`;
  const use = `${round3(gpuHours)} GPU-hours, ${round3(meanGpus)} GPUs on average, at most ${mostGpus}`;
  const keptHours = keptHoursOf(scaling);
  if (keptHours === null) return `${scaler}: ${use}; none ordered or stopped`;
  const perDay = `${round3((24 * ordered * meanGpus) / gpuHours)} per day`;
  return `${scaler}: ${use}; ${ordered} ordered, ${perDay}, and ${stopped} stopped: each was kept for ${keptText(keptHours)} on average`;
}

/** Mean lifetime, from the mean number of GPUs and their starts per hour (Little's law); null without either. */
function keptHoursOf({ gpuHours, ordered, stopped }: ScalingFigures): number | null {
  const cameAndWent = (ordered + stopped) / 2;
  return cameAndWent === 0 || gpuHours === 0 ? null : gpuHours / cameAndWent;
}

function keptText(hours: number): string {
  const minutes = hours * 60;
  if (minutes < 1) return `${round3(minutes * 60)} s`;
  return minutes < 120 ? `${round3(minutes)} min` : `${round3(hours)} h`;
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
