import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { checkWritable } from '../base/files/output-file.js';
import { noteLines, notesOn } from '../record/policy-notes.js';
import type { CellResult, RunResult, SweepResults } from '../record/results.js';
import { compareRuns } from '../report/compare/compare.js';
import { type NamedRun, runNames } from '../report/compare/named-run.js';
import { checkTolerances, parseTolerance } from '../report/compare/tolerance.js';
import { type RankedFleet, rankFleets } from '../report/fleets.js';
import { loadResults } from '../report/load.js';
import { comparePolicies } from '../report/policies/compare.js';
import type { NamedSweep } from '../report/policies/merge.js';
import { fleetsOf } from '../report/study/fleets.js';
import { comparisonText, fleetsText, policiesText } from '../report/terminal/summary-text.js';
import { warn, writeErr, writeOut } from '../text/terminal.js';
import { usageError } from './options.js';

/** Arguments of `compare`. */
interface CompareArgs {
  readonly results: readonly string[];
  readonly tolerance: readonly string[];
  readonly html: string | undefined;
  readonly json: boolean;
}

/** One way to compare: what is printed, and the page with charts. */
interface Comparison {
  readonly warnings: readonly string[];
  readonly json: object;
  text(): string;
  write(file: string): Promise<unknown>;
  /** Page in the first folder; null: only on request. */
  readonly page: string | null;
  /** Differences larger than tolerated. */
  readonly missed: readonly string[];
}

/**
 * Compares the results of runs, or the policies or fleets that sweeps varied. Throws `E_THRESHOLD` last, after everything
 * is written.
 */
export async function compareFolders({ results: folders, ...args }: CompareArgs): Promise<void> {
  const names = runNames(folders);
  const loaded = folders.map((folder, i) => ({ folder, name: names[i]!, ...loadResults(folder) }));
  const results = loaded.flatMap((each): readonly (CellResult | RunResult)[] =>
    each.kind === 'run' ? [each.run] : finishedOf(each.results),
  );
  for (const line of noteLines(notesOn(results.map(({ summary }) => summary)))) writeErr(`${line}\n`);
  const sweeps = loaded.filter((each) => each.kind === 'sweep');
  if (sweeps.length > 0 && sweeps.length < loaded.length) {
    const what = 'holds a sweep and others hold single runs; compare folders of one kind';
    throw new EscapementError('E_RESULTS', what, { file: sweeps[0]!.folder });
  }
  const compared =
    sweeps.length > 0
      ? sweepsOf(sweeps, args)
      : runsOf(
          loaded.filter((each) => each.kind === 'run'),
          args,
        );
  const { page, json, missed } = compared;
  const file = args.html ?? (args.json || page === null ? undefined : join(folders[0]!, page));
  if (file !== undefined) checkWritable(file);
  warn(compared.warnings);
  if (file !== undefined) await compared.write(file);
  const report = page === null ? '' : `\nreport: ${file}\n`;
  writeOut(args.json ? `${JSON.stringify(json)}\n` : `${compared.text()}${report}`);
  if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
}

// Chart libraries take half a second to load.
const pages = () => import('../report/pages/write-results.js');
const finishedOf = ({ cells }: SweepResults) =>
  cells.flatMap((cell) => (cell.status === 'done' ? cell.result : []));

function runsOf(runs: readonly NamedRun[], { tolerance }: Pick<CompareArgs, 'tolerance'>): Comparison {
  if (runs.length < 2)
    throw usageError(`compare ${runs[0]!.name}: another run to compare it with is missing`);
  const tolerances = tolerance.map(parseTolerance);
  const comparison = compareRuns(runs);
  const checks = checkTolerances(tolerances, comparison);
  const lines = checks.map(({ text }) => `${text}\n`).join('');
  return {
    warnings: comparison.warnings,
    json: { ...comparison, tolerances: checks },
    text: () => `${comparisonText(comparison)}${lines === '' ? '' : `\n${lines}`}`,
    write: async (file) => (await pages()).writeComparison(runs, file),
    page: null,
    missed: checks.filter(({ ok }) => !ok).map(({ text }) => text),
  };
}

function sweepsOf(sweeps: readonly NamedSweep[], { tolerance }: Pick<CompareArgs, 'tolerance'>): Comparison {
  if (tolerance.length > 0) throw usageError('--tolerance applies to single runs, and these are sweeps');
  const names = sweeps.map(({ name }) => name);
  const fleets = fleetsOfAll(sweeps);
  const cells = sweeps.flatMap(({ results }) => finishedOf(results));
  if (fleets.length > 0 && new Set(cells.map(({ summary }) => summary.policy)).size < 2) {
    const title = sweeps.map(({ results }) => results.name).join(' · ');
    return {
      warnings: [],
      json: { sweeps: names, fleets },
      text: () => fleetsText(title, fleets),
      write: async (file) => (await pages()).writeFleetComparison(title, fleets, file),
      page: 'fleets.html',
      missed: [],
    };
  }
  const comparison = comparePolicies(sweeps);
  return {
    warnings: comparison.warnings,
    json: { ...comparison, sweeps: names },
    text: () => policiesText(comparison),
    write: async (file) => (await pages()).writePolicyComparison(comparison, file),
    page: 'policies.html',
    missed: [],
  };
}

/** Fleets are named by the varied values, prefixed with the sweep's name if there are several. */
function fleetsOfAll(sweeps: readonly NamedSweep[]): RankedFleet[] {
  return rankFleets(
    sweeps.flatMap(({ name, results }) =>
      fleetsOf(results).map((fleet) =>
        sweeps.length === 1 ? fleet : { ...fleet, name: `${name}: ${fleet.name}` },
      ),
    ),
  );
}
