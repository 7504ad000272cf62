import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { checkWritable } from '../../base/files/output-file.js';
import { notesOn } from '../../record/policy-notes.js';
import type { CellResult, RunResult, SweepResults } from '../../record/results.js';
import { compareRuns } from '../../report/compare/compare.js';
import { type NamedRun, runNames } from '../../report/compare/named-run.js';
import { comparisonText, fleetsText } from '../../report/compare/text.js';
import { checkTolerances, parseTolerance } from '../../report/compare/tolerance.js';
import { type RankedFleet, rankFleets } from '../../report/fleets.js';
import { type LoadedResults, loadResults } from '../../report/load.js';
import { comparePolicies } from '../../report/policies/compare.js';
import { readCosts } from '../../report/policies/costs.js';
import type { NamedSweep } from '../../report/policies/merge.js';
import { policiesText } from '../../report/policies/text.js';
import { fleetsOf } from '../../report/study/fleets.js';
import { writeErr, writeOut } from '../../text/terminal.js';
import type { CompareArgs } from '../commands/compare.js';
import { noteLines } from '../note-lines.js';
import { packageVersion } from '../version.js';

/** `escapement compare A B`: the results of runs side by side; `compare SWEEP`: the policies, or the fleets, that it varied. */
export async function run({ results: folders, ...args }: CompareArgs): Promise<void> {
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

interface Flags {
  readonly json: boolean;
  readonly html: string | undefined;
  readonly tolerance: readonly string[];
  readonly costs: string | undefined;
}

type Loaded = LoadedResults & { readonly folder: string; readonly name: string };

const isSweep = (loaded: Loaded) => loaded.kind === 'sweep';
const finishedOf = ({ cells }: SweepResults) =>
  cells.flatMap((cell) => (cell.status === 'done' ? cell.result : []));
const isRun = (loaded: Loaded) => loaded.kind === 'run';

async function compareSingleRuns(runs: readonly NamedRun[], args: Flags): Promise<void> {
  if (args.costs !== undefined)
    throw new EscapementError('E_USAGE', '--costs applies to sweeps, and these are single runs');
  if (runs.length < 2)
    throw new EscapementError(
      'E_USAGE',
      `compare ${runs[0]!.name}: another run to compare it with is missing`,
    );
  if (args.html !== undefined) checkWritable(args.html);
  const tolerances = args.tolerance.map(parseTolerance);
  const comparison = compareRuns(runs);
  const checks = checkTolerances(tolerances, comparison);
  warn(comparison.warnings);
  if (args.html !== undefined) {
    // Charts bring half a second of libraries with them.
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
  if (args.tolerance.length > 0)
    throw new EscapementError('E_USAGE', '--tolerance applies to single runs, and these are sweeps');
  const fleets = fleetsOfAll(sweeps);
  if (fleets.length > 0 && policiesOf(sweeps).size < 2) {
    await compareFleets(sweeps, fleets, args);
    return;
  }
  const file = args.html ?? (args.json ? undefined : join(sweeps[0]!.folder, 'policies.html'));
  if (file !== undefined) checkWritable(file);
  const comparison = comparePolicies(sweeps, args.costs === undefined ? [] : readCosts(args.costs));
  warn(comparison.warnings);
  if (file !== undefined) {
    const { writePolicyComparison } = await import('../../report/pages/write-results.js');
    await writePolicyComparison(comparison, file, packageVersion());
  }
  if (args.json) {
    const { sweeps: _, ...figures } = comparison;
    writeOut(`${JSON.stringify({ sweeps: sweeps.map(({ name }) => name), ...figures })}\n`);
  } else writeOut(`${policiesText(comparison)}\nreport: ${file}\n`);
}

/** Of sweeps that vary scalers: what each fleet cost, and got. */
async function compareFleets(
  sweeps: readonly (NamedSweep & { readonly folder: string })[],
  fleets: readonly RankedFleet[],
  args: Flags,
): Promise<void> {
  if (args.costs !== undefined)
    throw new EscapementError('E_USAGE', '--costs applies to sweeps over policy.kind');
  const file = args.html ?? (args.json ? undefined : join(sweeps[0]!.folder, 'fleets.html'));
  const name = sweeps.map(({ results }) => results.name).join(' · ');
  if (file !== undefined) {
    checkWritable(file);
    const { writeFleetComparison } = await import('../../report/pages/write-results.js');
    await writeFleetComparison(name, fleets, file);
  }
  if (args.json) writeOut(`${JSON.stringify({ sweeps: sweeps.map((one) => one.name), fleets })}\n`);
  else writeOut(`${fleetsText(fleets)}\nreport: ${file}\n`);
}

/** Names are of the values that a sweep varied; of several sweeps behind the name of each. */
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
