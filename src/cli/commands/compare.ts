import { join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { compareRuns, type NamedRun } from '../../report/compare/compare.js';
import { runNames } from '../../report/compare/names.js';
import { comparisonText } from '../../report/compare/text.js';
import { checkTolerances, parseTolerance } from '../../report/compare/tolerance.js';
import { type LoadedResults, loadResults } from '../../report/load.js';
import { comparePolicies } from '../../report/policies/compare.js';
import { readCosts } from '../../report/policies/costs.js';
import type { NamedSweep } from '../../report/policies/merge.js';
import { policiesText } from '../../report/policies/text.js';
import { manyValues, oneValue } from '../args.js';
import { packageVersion } from '../version.js';

/** `escapement compare A B`: the results of runs side by side; `compare SWEEP`: the policies that it varied. */
export function compareCommand(cli: Argv): void {
  cli.command(
    'compare <results..>',
    'Show the results of runs side by side, or compare the policies of sweeps',
    (command) =>
      command
        .positional('results', {
          type: 'string',
          array: true,
          demandOption: true,
          describe:
            'Folders of single runs, of which the others are held against the first; or of sweeps over policy.kind, which are taken together',
        })
        .options({
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          html: oneValue({
            describe:
              'Also write the comparison with charts to this file [of sweeps: policies.html in the first folder]',
          }),
          tolerance: manyValues({
            describe:
              "Runs: exit with status 3 if a figure is further from the first run's, e.g. 'p99=15%' or 'p99=2ms'; figures as for --threshold",
          }),
          costs: oneValue({
            describe: 'Sweeps: what policies cost, as npm run bench -- --policies --out FILE wrote it',
          }),
        })
        .example('$0 compare out/simulated out/live', '')
        .example("$0 compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'", '')
        .example('$0 compare out/clockwork out/fifo --html out/compared.html', '')
        .example('$0 compare out/policies --costs costs.jsonl', ''),
    async ({ results: folders, ...args }) => {
      const named = runNames(folders);
      const loaded = folders.map((folder, i) => ({ folder, name: named[i]!, ...loadResults(folder) }));
      const sweeps = loaded.filter(isSweep);
      if (sweeps.length === loaded.length) await compareSweeps(sweeps, args);
      else if (sweeps.length === 0) await compareSingleRuns(loaded.filter(isRun), args);
      else {
        const what = 'holds a sweep, others hold single runs; compare folders of one kind';
        throw new EscapementError('E_RESULTS', what, { file: sweeps[0]!.folder });
      }
    },
  );
}

interface Flags {
  readonly json: boolean;
  readonly html: string | undefined;
  readonly tolerance: readonly string[];
  readonly costs: string | undefined;
}

type Loaded = LoadedResults & { readonly folder: string; readonly name: string };

const isSweep = (loaded: Loaded) => loaded.kind === 'sweep';
const isRun = (loaded: Loaded) => loaded.kind === 'run';

async function compareSingleRuns(runs: readonly NamedRun[], args: Flags): Promise<void> {
  if (args.costs !== undefined)
    throw new EscapementError('E_USAGE', '--costs: is for sweeps, these are single runs');
  if (runs.length < 2)
    throw new EscapementError('E_USAGE', `compare ${runs[0]!.name}: name another run to compare it with`);
  const tolerances = args.tolerance.map(parseTolerance);
  const comparison = compareRuns(runs);
  const checks = checkTolerances(tolerances, comparison);
  warn(comparison.warnings);
  if (args.html !== undefined) {
    // Charts bring half a second of libraries with them.
    const { writeComparison } = await import('../../report/index.js');
    await writeComparison(runs, args.html);
  }
  if (args.json) process.stdout.write(`${JSON.stringify({ ...comparison, tolerances: checks })}\n`);
  else {
    process.stdout.write(comparisonText(comparison));
    if (checks.length > 0) process.stdout.write(`\n${checks.map(({ text }) => `${text}\n`).join('')}`);
  }
  const missed = checks.filter(({ ok }) => !ok).map(({ text }) => text);
  if (missed.length > 0) throw new EscapementError('E_THRESHOLD', missed.join('; '));
}

async function compareSweeps(
  sweeps: readonly (NamedSweep & { readonly folder: string })[],
  args: Flags,
): Promise<void> {
  if (args.tolerance.length > 0)
    throw new EscapementError('E_USAGE', '--tolerance: is for single runs, these are sweeps');
  const comparison = comparePolicies(sweeps, args.costs === undefined ? [] : readCosts(args.costs));
  warn(comparison.warnings);
  const file = args.html ?? (args.json ? undefined : join(sweeps[0]!.folder, 'policies.html'));
  if (file !== undefined) {
    const { writePolicyComparison } = await import('../../report/index.js');
    await writePolicyComparison(comparison, file, packageVersion());
  }
  if (args.json) {
    const { sweeps: _, ...figures } = comparison;
    process.stdout.write(`${JSON.stringify({ sweeps: sweeps.map(({ name }) => name), ...figures })}\n`);
  } else process.stdout.write(`${policiesText(comparison)}\nreport: ${file}\n`);
}

function warn(warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
}
