import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import { compareRuns, type NamedRun } from '../../report/compare/compare.js';
import { runNames } from '../../report/compare/names.js';
import { comparisonText } from '../../report/compare/text.js';
import { checkTolerances, parseTolerance } from '../../report/compare/tolerance.js';
import { loadResults } from '../../report/load.js';
import { manyValues, oneValue } from '../args.js';

/** `escapement compare A B`: the results of runs side by side. */
export function compareCommand(cli: Argv): void {
  cli.command(
    'compare <runs..>',
    'Show the results of two or more runs side by side',
    (command) =>
      command
        .positional('runs', {
          type: 'string',
          array: true,
          demandOption: true,
          describe: 'Folders with run.json; the others are held against the first',
        })
        .options({
          json: {
            type: 'boolean',
            default: false,
            describe: 'Print one JSON object on stdout and nothing else',
          },
          html: oneValue({ describe: 'Also write the comparison with charts to this file' }),
          tolerance: manyValues({
            describe:
              "Exit with status 3 if a figure is further from the first run's, e.g. 'p99=15%' or 'p99=2ms'; figures as for --threshold",
          }),
        })
        .example('$0 compare out/simulated out/live', '')
        .example("$0 compare out/simulated out/live --tolerance 'goodputRps=3%' --tolerance 'p99=15%'", '')
        .example('$0 compare out/clockwork out/fifo --html out/policies.html', ''),
    async (args) => {
      const tolerances = args.tolerance.map(parseTolerance);
      const runs = readRuns(args.runs);
      const comparison = compareRuns(runs);
      const checks = checkTolerances(tolerances, comparison);
      for (const warning of comparison.warnings) process.stderr.write(`warning: ${warning}\n`);
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
    },
  );
}

function readRuns(folders: readonly string[]): NamedRun[] {
  if (folders.length < 2)
    throw new EscapementError('E_USAGE', `compare ${folders[0]}: name another run to compare it with`);
  const names = runNames(folders);
  return folders.map((folder, i) => {
    const loaded = loadResults(folder);
    if (loaded.kind === 'run') return { name: names[i]!, run: loaded.run };
    throw new EscapementError('E_RESULTS', 'holds a sweep; compare takes folders of single runs', {
      file: folder,
    });
  });
}
