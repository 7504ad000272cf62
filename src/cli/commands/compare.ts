import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../base/errors.js';
import { checkWritable } from '../../base/files/output-file.js';
import { noteLines, notesOn } from '../../record/policy-notes.js';
import type { CellResult, RunResult, SweepResults } from '../../record/results.js';
import { compareRuns } from '../../report/compare/compare.js';
import { type NamedRun, runNames } from '../../report/compare/named-run.js';
import { checkTolerances, parseTolerance } from '../../report/compare/tolerance.js';
import { type RankedFleet, rankFleets } from '../../report/fleets.js';
import type { LoadedResults } from '../../report/load.js';
import { comparePolicies } from '../../report/policies/compare.js';
import type { NamedSweep } from '../../report/policies/merge.js';
import { fleetsOf } from '../../report/study/fleets.js';
import { comparisonText, fleetsText, policiesText } from '../../report/terminal/summary-text.js';
import { writeErr, writeOut } from '../../text/terminal.js';
import { json } from '../common-options.js';
import { type ArgsOf, group, list, required, text, usageError } from '../options.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional(
      'results',
      required(
        list(
          'Folders of single runs, compared with the first; or of sweeps over policy.kind, which are merged, or over scalers',
        ),
      ),
    )
    .options({
      ...group('Runs', {
        tolerance: list(
          "Exit with code 3 if a figure differs more from the first run's, e.g. 'p99=15%' or 'p99=2ms'; figures as " +
            'for --threshold',
        ),
      }),
      ...group('Output', {
        json,
        html: text(
          'Also write the comparison with charts to this file',
          'for sweeps policies.html or fleets.html in the first folder',
        ),
      }),
    })
    .example([
      ['$0 compare out/simulated out/live', ''],
      ["$0 compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'", ''],
      ['$0 compare out/clockwork out/fifo --html out/compared.html', ''],
      ['$0 compare out/policies', ''],
      ['$0 compare out/autoscale', ''],
    ]);

type Args = ArgsOf<typeof builder>;

/** `escapement compare A B`: results of runs side by side; `compare SWEEP`: the policies or fleets that it varied. */
export async function handler({ results: folders, ...args }: Args): Promise<void> {
  const { loadResults } = await import('../../report/load.js');
  const named = runNames(folders);
  const loaded = folders.map((folder, i) => ({ folder, name: named[i]!, ...loadResults(folder) }));
  const results = loaded.flatMap((each): readonly (CellResult | RunResult)[] =>
    each.kind === 'run' ? [each.run] : finishedOf(each.results),
  );
  for (const line of noteLines(notesOn(results.map(({ summary }) => summary)))) writeErr(`${line}\n`);
  const sweeps = loaded.filter(isSweep);
  if (sweeps.length === loaded.length) await compareSweeps(sweeps, args);
  else if (sweeps.length === 0) await compareSingleRuns(loaded.filter(isRun), args);
  else {
    const what = 'holds a sweep and others hold single runs; compare folders of one kind';
    throw new EscapementError('E_RESULTS', what, { file: sweeps[0]!.folder });
  }
}

type Flags = Omit<Args, 'results'>;
type Loaded = LoadedResults & { readonly folder: string; readonly name: string };

const isSweep = (loaded: Loaded) => loaded.kind === 'sweep';
const finishedOf = ({ cells }: SweepResults) =>
  cells.flatMap((cell) => (cell.status === 'done' ? cell.result : []));
const isRun = (loaded: Loaded) => loaded.kind === 'run';

async function compareSingleRuns(runs: readonly NamedRun[], args: Flags): Promise<void> {
  if (runs.length < 2)
    throw usageError(`compare ${runs[0]!.name}: another run to compare it with is missing`);
  if (args.html !== undefined) checkWritable(args.html);
  const tolerances = args.tolerance.map(parseTolerance);
  const comparison = compareRuns(runs);
  const checks = checkTolerances(tolerances, comparison);
  warn(comparison.warnings);
  if (args.html !== undefined) {
    // Chart libraries take half a second to load.
    const { writeComparison } = await import('../../report/pages/write-results.js');
    await writeComparison(runs, args.html);
  }
  if (args.json) writeOut(`${JSON.stringify({ ...comparison, tolerances: checks })}\n`);
  else {
    writeOut(comparisonText(comparison));
    if (checks.length > 0) writeOut(`\n${checks.map(({ text }) => `${text}\n`).join('')}`);
  }
  const missed = checks.filter(({ ok }) => !ok).map(({ text }) => text);
  if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
}

async function compareSweeps(
  sweeps: readonly (NamedSweep & { readonly folder: string })[],
  args: Flags,
): Promise<void> {
  if (args.tolerance.length > 0) throw usageError('--tolerance applies to single runs, and these are sweeps');
  const fleets = fleetsOfAll(sweeps);
  if (fleets.length > 0 && policiesOf(sweeps).size < 2) {
    await compareFleets(sweeps, fleets, args);
    return;
  }
  const file = args.html ?? (args.json ? undefined : join(sweeps[0]!.folder, 'policies.html'));
  if (file !== undefined) checkWritable(file);
  const comparison = comparePolicies(sweeps);
  warn(comparison.warnings);
  if (file !== undefined) {
    const { writePolicyComparison } = await import('../../report/pages/write-results.js');
    await writePolicyComparison(comparison, file);
  }
  if (args.json) {
    const { sweeps: _, ...figures } = comparison;
    writeOut(`${JSON.stringify({ sweeps: sweeps.map(({ name }) => name), ...figures })}\n`);
  } else writeOut(`${policiesText(comparison)}\nreport: ${file}\n`);
}

/** Compares cost and results of the fleets in sweeps over scalers. */
async function compareFleets(
  sweeps: readonly (NamedSweep & { readonly folder: string })[],
  fleets: readonly RankedFleet[],
  args: Flags,
): Promise<void> {
  const file = args.html ?? (args.json ? undefined : join(sweeps[0]!.folder, 'fleets.html'));
  const name = sweeps.map(({ results }) => results.name).join(' · ');
  if (file !== undefined) {
    checkWritable(file);
    const { writeFleetComparison } = await import('../../report/pages/write-results.js');
    await writeFleetComparison(name, fleets, file);
  }
  if (args.json) writeOut(`${JSON.stringify({ sweeps: sweeps.map((one) => one.name), fleets })}\n`);
  else writeOut(`${fleetsText(name, fleets)}\nreport: ${file}\n`);
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

function policiesOf(sweeps: readonly NamedSweep[]): Set<string> {
  return new Set(sweeps.flatMap(({ results }) => finishedOf(results).map(({ summary }) => summary.policy)));
}

function warn(warnings: readonly string[]): void {
  for (const warning of warnings) writeErr(`warning: ${warning}\n`);
}
