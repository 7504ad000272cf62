import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { checkWritable } from '../base/files/output-file.js';
import { noteLines } from '../record/policy-notes.js';
import type { CellResult, RunResult } from '../record/results.js';
import { compareRuns, type NamedRun, runNames } from '../report/compare/compare.js';
import { checkTolerances, parseTolerance } from '../report/compare/tolerance.js';
import { loadResults } from '../report/load.js';
import { comparePolicies, type NamedSweep } from '../report/policies/compare.js';
import { comparisonText, policiesText } from '../report/terminal/summary-text.js';
import { warn, writeErr, writeOut } from '../text/terminal.js';
import { usageError } from './options.js';

/** Arguments of `compare`. */
interface CompareArgs {
  readonly results: readonly string[];
  readonly tolerance: readonly string[];
  readonly html: string | undefined;
  readonly json: boolean;
}

/** Compares the results of runs, or the policies of a sweep. Throws `E_THRESHOLD` last, after everything is written. */
export async function compareFolders({ results: folders, ...args }: CompareArgs): Promise<void> {
  const names = runNames(folders);
  const loaded = folders.map((folder, i) => ({ folder, name: names[i]!, ...loadResults(folder) }));
  const results = loaded.flatMap((each): readonly (CellResult | RunResult)[] =>
    each.kind === 'run'
      ? [each.run]
      : each.results.cells.flatMap((cell) => (cell.status === 'done' ? cell.result : [])),
  );
  const notes = results.flatMap(({ summary: { policyNotes = [] } }) => policyNotes);
  for (const line of noteLines(notes)) writeErr(`${line}\n`);
  const runs = loaded.filter((each) => each.kind === 'run');
  const [sweep] = loaded.filter((each) => each.kind === 'sweep');
  if (sweep === undefined) return compareAll(runs, args);
  if (loaded.length === 1) return compareWithin(sweep, sweep.folder, args);
  const what =
    'holds a sweep, which is compared alone: one sweep over policy.kind, or folders of single runs';
  throw new EscapementError('E_RESULTS', what, { file: sweep.folder });
}

type OutputArgs = Omit<CompareArgs, 'results'>;

// Chart libraries take half a second to load.
const pages = () => import('../report/pages/write-results.js');

async function compareAll(runs: readonly NamedRun[], { tolerance, html, json }: OutputArgs): Promise<void> {
  if (runs.length < 2) throw usageError(`compare ${runs[0]!.name}: name another run to compare it with`);
  const tolerances = tolerance.map(parseTolerance);
  const comparison = compareRuns(runs);
  const checks = checkTolerances(tolerances, comparison);
  if (html !== undefined) checkWritable(html);
  warn(comparison.warnings);
  if (html !== undefined) await (await pages()).writeComparison(runs, html);
  const lines = checks.map(({ text }) => `${text}\n`).join('');
  if (json) writeOut(`${JSON.stringify({ ...comparison, tolerances: checks })}\n`);
  else writeOut(`${comparisonText(comparison)}${lines === '' ? '' : `\n${lines}`}`);
  const missed = checks.filter(({ ok }) => !ok);
  if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.map(({ text }) => text).join('; '));
}

/** Writes a page into the folder of the sweep, unless JSON was asked for. */
async function compareWithin(
  sweep: NamedSweep,
  folder: string,
  { tolerance, html, json }: OutputArgs,
): Promise<void> {
  if (tolerance.length > 0) throw usageError('--tolerance applies to single runs, and this is a sweep');
  const comparison = comparePolicies(sweep);
  const file = html ?? (json ? undefined : join(folder, 'policies.html'));
  if (file !== undefined) checkWritable(file);
  warn(comparison.warnings);
  if (file !== undefined) await (await pages()).writePolicyComparison(comparison, file);
  const report = `\nreport: ${file}\n`;
  writeOut(
    json ? `${JSON.stringify({ ...comparison, sweep: sweep.name })}\n` : policiesText(comparison) + report,
  );
}
