import type { CostFigures, ScalingFigures } from '../record/results.js';
import { round3 } from '../text/numbers.js';

/** `12.72 per hour, 3.1 per million requests in time`: the file says in which currency. */
export function costText({ perHour, perMillionInTime }: CostFigures): string {
  const perMillion =
    perMillionInTime === null ? 'none in time' : `${price(perMillionInTime)} per million requests in time`;
  return `${price(perHour)} per hour, ${perMillion}`;
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
  const use = `${round3(gpuHours)} GPU-hours, ${round3(meanGpus)} GPUs on average, at most ${mostGpus}`;
  return `${scaler}: ${use}; ${ordered} ordered, ${stopped} stopped`;
}

function price(value: number): string {
  return String(round3(value));
}
