import { EscapementError } from '../base/errors.js';
import type { Durations } from '../live/models/measure/durations.js';
import { wholeNumber } from './options.js';

/** Batch sizes of `--batch-sizes`, or the model's own. Throws `E_USAGE`. */
export function chosenSizes(
  text: string | undefined,
  ofModel: readonly number[],
  isBatched: boolean,
): readonly number[] {
  if (text === undefined) return ofModel;
  const sizes = text.split(',').map((size) => wholeNumber(size, '--batch-sizes', 1));
  if (sizes[0] !== 1 || sizes.some((size, i) => i > 0 && size <= sizes[i - 1])) {
    throw new EscapementError('E_USAGE', `--batch-sizes ${text}: must start with 1 and ascend`);
  }
  if (isBatched || sizes.length === 1) return sizes;
  throw new EscapementError('E_USAGE', `--batch-sizes ${text}: the model does not support batches`);
}

/** Throws `E_USAGE` if several profiles would be written to one file. */
export function checkOneFile(out: string | undefined, models: number): void {
  if (out === undefined || models === 1) return;
  throw new EscapementError('E_USAGE', '--out holds the profile of one model; select it with --model');
}

/** Stability of durations by batch size, as a line for people. */
export function stabilityText(batches: readonly Pick<Durations, 'p99Ms' | 'medianMs'>[]): string {
  const worst = Math.max(...batches.map(({ p99Ms, medianMs }) => p99Ms / medianMs));
  return `p99 / median of INFER is at most ${worst.toFixed(2)}: ${verdict(worst)}\n`;
}

/** Meaning of the ratio for a scheduler that plans by past durations. */
function verdict(ratio: number): string {
  if (ratio <= 1.1) return 'durations are stable enough to plan with';
  if (ratio <= 1.5) return 'durations can be planned with if SLOs leave that much room';
  return 'durations vary too much to plan with; check what else uses the device';
}
