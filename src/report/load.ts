import { conforming, readResults, readRun } from '../base/files/results-folder.js';
import type { RunResult, SweepResults } from '../record/results.js';
import { RESULTS_VERSION } from '../record/results-version.js';
import { runResultSchema, sweepResultsSchema } from '../record/schema.js';

export type LoadedResults =
  | { readonly kind: 'run'; readonly run: RunResult }
  | { readonly kind: 'sweep'; readonly results: SweepResults };

/**
 * Reads the output of `sweep --out DIR` or `simulate --out DIR`: `results.json`, else `run.json`. Throws `E_RESULTS` if
 * there is neither, or if it is broken, incomplete or of another version.
 */
export function loadResults(dir: string): LoadedResults {
  const found = readResults(dir, RESULTS_VERSION);
  return found.kind === 'sweep'
    ? { kind: 'sweep', results: conforming(found, sweepResultsSchema) }
    : { kind: 'run', run: conforming(found, runResultSchema) };
}

/** Reads the output of `simulate --out DIR`. Throws `E_RESULTS`, also for that of a sweep. */
export function loadRun(dir: string): RunResult {
  return conforming(readRun(dir, RESULTS_VERSION), runResultSchema);
}
