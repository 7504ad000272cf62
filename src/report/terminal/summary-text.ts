import type { CellResult, RunResult, SweepResults } from '../../record/results.js';
import { runText } from './run-text.js';
import { type SweepTextOptions, sweepText } from './sweep-text.js';

/** A result for the terminal: plain text wrapped at 80 columns, seed first and digest last. `options`: for sweeps. */
export function summaryText(
  result: RunResult | CellResult | SweepResults,
  options?: SweepTextOptions,
): string {
  return 'cells' in result ? sweepText(result, options) : runText(result);
}
