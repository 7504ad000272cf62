import type { CostFigures, ScalingFigures } from '../record/results.js';
import { round3 } from '../text/numbers.js';

/** `12.72 per hour, 3.1 per million requests in time`: the file says in which currency. */
export function costText({ perHour, perMillionInTime }: CostFigures): string {
  const perMillion =
    perMillionInTime === null ? 'none in time' : `${price(perMillionInTime)} per million requests in time`;
  return `${price(perHour)} per hour, ${perMillion}`;
}

/** `predictive: 12.5 GPU-hours, 3.1 GPUs on average, at most 8; 14 ordered, 12 stopped: each was kept for 58 min on average`. */
export function scalingText({
  scaler,
  gpuHours,
  meanGpus,
  mostGpus,
  ordered,
  stopped,
}: ScalingFigures): string {
  const use = `${round3(gpuHours)} GPU-hours, ${round3(meanGpus)} GPUs on average, at most ${mostGpus}`;
  const cameAndWent = (ordered + stopped) / 2;
  // As many are there on average as come per hour, times the hours that each is kept (Little's law).
  const kept = cameAndWent === 0 ? '' : `: each was kept for ${keptText(gpuHours / cameAndWent)} on average`;
  return `${scaler}: ${use}; ${ordered} ordered, ${stopped} stopped${kept}`;
}

function keptText(hours: number): string {
  const minutes = hours * 60;
  if (minutes < 1) return `${round3(minutes * 60)} s`;
  return minutes < 120 ? `${round3(minutes)} min` : `${round3(hours)} h`;
}

/** `12.7` and `3.10`, as columns have them; `–` where there is no such cost. */
export function costTexts(cost: CostFigures | null): [string, string] {
  if (cost === null) return ['–', '–'];
  return [inColumn(cost.perHour), cost.perMillionInTime === null ? '–' : inColumn(cost.perMillionInTime)];
}

function inColumn(value: number): string {
  return value >= 0.001 && value < 100 ? value.toPrecision(3) : price(value);
}

function price(value: number): string {
  return String(round3(value));
}
