import { availableParallelism } from 'node:os';
import { basename, extname, join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../core/errors.js';
import type { SweepResults } from '../../metrics/results.js';
import { sweepExperiment } from '../../sweep/sweep-experiment.js';
import { manyValues, oneValue, wholeNumber } from '../args.js';
import { EXIT_INTERRUPTED } from '../exit-codes.js';
import { experimentHelp } from '../experiment-help.js';
import { openProgress, type Progress } from '../progress.js';
import { packageVersion } from '../version.js';

/** `escapement sweep FILE`: many runs over a grid, and a report that compares them. */
export function sweepCommand(cli: Argv): void {
  cli.command(
    'sweep <file>',
    'Run an experiment over a grid of values and seeds, and report what to deploy',
    (command) =>
      command
        .positional('file', { type: 'string', demandOption: true, describe: 'Experiment file (YAML)' })
        .options({
          vary: manyValues({
            describe: 'Key and values, e.g. slo=10ms,25ms or policy.scheduleAhead=1ms:20ms:1ms',
          }),
          seeds: oneValue({ describe: 'Seeds to repeat every cell with, e.g. 1,2,3' }),
          set: manyValues({ describe: 'Override a key in every cell' }),
          out: oneValue({ describe: 'Folder of the results [default: out/NAME-OF-FILE]' }),
          threads: oneValue({ describe: 'Cells that run at the same time [default: one a core]' }),
          fresh: {
            type: 'boolean',
            default: false,
            describe: 'Run finished cells again instead of reusing them',
          },
          quiet: { type: 'boolean', default: false, describe: 'No progress on stderr' },
        })
        .example('$0 sweep experiments/schedule-ahead.yaml', '')
        .example('$0 sweep run.yaml --vary slo=10ms:50ms:10ms --seeds 1,2', '')
        .example('$0 sweep run.yaml --vary policy.kind=clockwork,fifo', '')
        .epilogue(`Without --vary or --seeds the file's sweep section decides.\n\n${experimentHelp()}`),
    async (args) => {
      const outDir = args.out ?? join('out', basename(args.file, extname(args.file)));
      const threads =
        args.threads === undefined ? availableParallelism() : wholeNumber(args.threads, 'threads', 1);
      const results = await runWithProgress({ ...args, outDir, threads });
      // Charts bring half a second of libraries with them: the cells start without.
      const { summaryText, writeSweepReport } = await import('../../report/index.js');
      const [report] = await writeSweepReport(results, outDir);
      process.stdout.write(`${summaryText(results)}report: ${report}\n`);
      failOnFailedCells(results);
    },
  );
}

interface SweepArgs {
  readonly file: string;
  readonly vary: readonly string[];
  readonly seeds: string | undefined;
  readonly set: readonly string[];
  readonly outDir: string;
  readonly threads: number;
  readonly fresh: boolean;
  readonly quiet: boolean;
}

async function runWithProgress(args: SweepArgs): Promise<SweepResults> {
  let progress: Progress | undefined;
  let known = 0;
  let failed = 0;
  let reused = 0;
  let total = 0;
  const interrupted = () => {
    progress?.stop();
    const kept = `${known - failed} of ${total} cells are kept in ${args.outDir}; run the same command again to go on`;
    process.stderr.write(`escapement: interrupted: ${total === 0 ? 'no cell had begun' : kept}\n`);
    process.exit(EXIT_INTERRUPTED);
  };
  process.once('SIGINT', interrupted);
  try {
    const results = await sweepExperiment({
      file: args.file,
      vary: args.vary,
      seeds: args.seeds,
      overrides: args.set,
      outDir: args.outDir,
      threads: args.threads,
      fresh: args.fresh,
      version: packageVersion(),
      onPlan: (cells, seeds) => {
        total = cells;
        if (!args.quiet) {
          process.stderr.write(`seed ${seeds.join(', ')}: ${cells} cells on ${args.threads} threads\n`);
        }
        progress = openProgress('sweep', args.quiet);
      },
      onCell: (cell, wasFinished) => {
        known++;
        if (wasFinished) reused++;
        if (cell.status === 'failed') failed++;
        const note = `${known}/${total} cells${failed === 0 ? '' : `, ${failed} failed`}`;
        progress?.update(known / total, note);
      },
    });
    progress?.stop();
    if (reused > 0 && !args.quiet) {
      process.stderr.write(`${reused} cells were finished before, and not run again\n`);
    }
    return results;
  } finally {
    process.off('SIGINT', interrupted);
    progress?.stop();
  }
}

function failOnFailedCells(results: SweepResults): void {
  const failed = results.cells.filter(({ status }) => status === 'failed').length;
  if (failed === 0) return;
  throw new EscapementError(
    'E_CELLS_FAILED',
    `${failed} of ${results.cells.length} cells failed; report.html and results.csv tell why`,
  );
}
