import { availableParallelism } from 'node:os';
import { basename, extname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import type { SweepResults } from '../../record/results.js';
import { sweepCases } from '../../report/thresholds/cases.js';
import { sweepExperiment } from '../../run/sweep/sweep-experiment.js';
import { tableWidth } from '../../text/terminal.js';
import { interruptible } from '../interruption.js';
import { openProgress, type Progress } from '../progress.js';
import { casesJson, casesText, readChecks, refuseMissed, writeCiFiles } from '../thresholds.js';
import type { SweepArgs } from '../usage/sweep.js';
import { packageVersion } from '../version.js';

/** `escapement sweep FILE`: many runs over a grid, and a report that compares them. */
export async function run(args: SweepArgs): Promise<void> {
  const outDir = args.out ?? join('out', basename(args.file, extname(args.file)));
  const threads = args.threads ?? availableParallelism();
  const checks = readChecks(args);
  const results = await runWithProgress({
    ...args,
    outDir,
    threads,
    percentiles: checks.percentiles,
    required: checks.thresholds.map(({ text }) => text),
  });
  const cases = sweepCases(checks.thresholds, results);
  writeCiFiles(checks, 'sweep', results.name, cases);
  // Charts bring half a second of libraries with them: the cells start without.
  const { writeSweepReport } = await import('../../report/pages/write-results.js');
  const { summaryText } = await import('../../report/terminal/summary-text.js');
  const [report] = await writeSweepReport(results, outDir);
  const columns = tableWidth();
  const shown = { file: args.file, ...(columns === undefined ? {} : { columns }) };
  process.stdout.write(
    args.json
      ? `${JSON.stringify({ ...results, ...casesJson(cases) })}\n`
      : `${summaryText(results, shown)}\n${casesText(cases)}report: ${report}\n`,
  );
  failOnFailedCells(results);
  refuseMissed(cases);
}

interface PlannedSweep extends SweepArgs {
  readonly outDir: string;
  readonly percentiles: readonly number[];
  readonly required: readonly string[];
  readonly threads: number;
}

async function runWithProgress(args: PlannedSweep): Promise<SweepResults> {
  let progress: Progress | undefined;
  let known = 0;
  let failed = 0;
  let reused = 0;
  let total = 0;
  const work = async () => {
    const results = await sweepExperiment({
      file: args.file,
      vary: args.vary,
      seeds: args.seeds,
      overrides: args.set,
      outDir: args.outDir,
      threads: args.threads,
      fresh: args.fresh,
      version: packageVersion(),
      percentiles: args.percentiles,
      required: args.required,
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
      process.stderr.write(`${reused} finished cells were reused\n`);
    }
    return results;
  };
  const kept = () => {
    progress?.stop();
    if (total === 0) return 'no cell had started';
    return `${known - failed} of ${total} cells are kept in ${args.outDir}; repeat the command to resume`;
  };
  return interruptible(work, kept).finally(() => progress?.stop());
}

function failOnFailedCells(results: SweepResults): void {
  const failed = results.cells.filter(({ status }) => status === 'failed').length;
  if (failed === 0) return;
  throw new EscapementError(
    'E_CELLS_FAILED',
    `${failed} of ${results.cells.length} cells failed; see report.html or results.csv for the causes`,
  );
}
