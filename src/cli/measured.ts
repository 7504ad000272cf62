import type { Durations } from '../live/models/measure/durations.js';
import { usageError, wholeNumber } from './options.js';

/** Batch sizes of `--batch-sizes`, or the model's own. Throws `E_USAGE`. */
export function chosenSizes(
  text: string | undefined,
  ofModel: readonly number[],
  isBatched: boolean,
): readonly number[] {
  if (text === undefined) return ofModel;
  const sizes = text.split(',').map((size) => wholeNumber(size, '--batch-sizes', 1));
  if (sizes[0] !== 1 || sizes.some((size, i) => i > 0 && size <= sizes[i - 1])) {
    throw usageError(`--batch-sizes ${text}: must start with 1 and ascend`);
  }
  if (isBatched || sizes.length === 1) return sizes;
  throw usageError(`--batch-sizes ${text}: the model does not support batches`);
}

/** Throws `E_USAGE` if several profiles would be written to one file. */
export function checkOneFile(out: string | undefined, models: number): void {
  if (out === undefined || models === 1) return;
  throw usageError('--out holds the profile of one model; select it with --model');
}

/** First cell of a row about INFERs; length 0: the model takes inputs of one length. */
export function inferLabel(length: number, batch: number): string {
  return length === 0 ? `INFER, batch ${batch}` : `INFER, length ${length}, batch ${batch}`;
}

/** Stability of durations by batch size, as a line for people. */
export function stabilityText(batches: readonly Pick<Durations, 'p99Ms' | 'medianMs'>[]): string {
  const worst = Math.max(...batches.map(({ p99Ms, medianMs }) => p99Ms / medianMs));
  const verdict =
    worst <= 1.1
      ? 'durations are stable enough to plan with'
      : worst <= 1.5
        ? 'durations can be planned with if SLOs leave that much room'
        : 'durations vary too much to plan with; check what else uses the device';
  return `p99 / median of INFER is at most ${worst.toFixed(2)}: ${verdict}\n`;
}
