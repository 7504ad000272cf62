import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cannotWrite } from '../base/files/output-file.js';
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

/** Files of a report, within the folder of its results. */
export const REPORT = 'report.html';
export const CHARTS = 'charts';
/** Each chart's files have its name and these endings. */
export const CHART_ENDINGS = { svg: '.svg', png: '.png', spec: '.vl.json' } as const;

/** Removes an earlier report of other results; a new one can be drawn from the folder. Throws `E_FILE_WRITE`. */
export function dropReport(dir: string): void {
  dropCharts(dir, []);
  remove(dir, [REPORT]);
}

/** Removes all charts except those with these names. Other files stay. Throws `E_FILE_WRITE`. */
export function dropCharts(dir: string, keep: readonly string[]): void {
  const charts = join(dir, CHARTS);
  // A missing folder, or a file in its place, has no charts.
  if (!existsSync(charts) || !statSync(charts).isDirectory()) return;
  const others = readdirSync(charts).filter((file) => {
    const ending = Object.values(CHART_ENDINGS).find((candidate) => file.endsWith(candidate));
    return ending !== undefined && !keep.includes(file.slice(0, -ending.length));
  });
  remove(charts, others);
}

function remove(dir: string, files: readonly string[]): void {
  try {
    for (const file of files) rmSync(join(dir, file), { force: true });
  } catch (error) {
    throw cannotWrite(dir, error);
  }
}
