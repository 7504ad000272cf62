import { basename, extname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { usableCores } from '../../base/limits/usable.js';
import { noteTexts } from '../../record/policy-notes.js';
import type { SweepResults } from '../../record/results.js';
import { sweepCases } from '../../report/thresholds/cases.js';
import type { SweepQuestion } from '../../run/sweep/plan-sweep.js';
import { threadPool } from '../../run/sweep/pool.js';
import { sweepExperiment } from '../../run/sweep/sweep-experiment.js';
import { tableWidth, writeErr, writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import type { SweepArgs } from '../commands/sweep.js';
import { interruptible } from '../interruption.js';
import { noteLines } from '../note-lines.js';
import { openProgress, type Progress } from '../progress.js';
import { openQueue } from '../queue.js';
import { readShard } from '../shard.js';
import { printStatus, runShard } from '../shard-run.js';
import { type Checks, casesJson, casesText, readChecks, refuseMissed, writeCiFiles } from '../thresholds.js';
import { packageVersion } from '../version.js';

/** `escapement sweep FILE`: many runs over a grid, and a report that compares them; or a part of them. */
export async function run(args: SweepArgs): Promise<void> {
  const shard = args.shard === undefined ? null : readShard(args.shard, process.env);
  if (args.status) refuseFlags(args, '--status only reads', ['shard', 'fresh', 'junit', 'markdown']);
  if (shard !== null) refuseFlags(args, 'a shard checks nothing', ['junit', 'markdown']);
  if (args.queue !== undefined) {
    refuseFlags(args, 'the workers of a queue run all cells', ['shard', 'status', 'threads']);
  }
  const checks = readChecks(args);
  const sweep = {
    ...{ file: args.file, vary: args.vary, seeds: args.seeds, overrides: args.set, fresh: args.fresh },
    outDir: args.out ?? join('out', basename(args.file, extname(args.file))),
    threads: args.threads ?? usableCores(),
    version: packageVersion(),
    percentiles: checks.percentiles,
    required: checks.thresholds.map(({ text }) => text),
  };
  if (args.status) await printStatus(sweep, args);
  else if (shard !== null) await runShard(sweep, shard, args);
  else await runWhole(sweep, checks, args);
}

/** Throws `E_USAGE` for the first of these flags that was given. */
function refuseFlags(
  args: SweepArgs,
  why: string,
  names: readonly ('shard' | 'status' | 'threads' | 'fresh' | 'junit' | 'markdown')[],
): void {
  const given = names.find((name) => args[name] !== undefined && args[name] !== false);
  if (given !== undefined) throw new EscapementError('E_USAGE', `${why}: leave out --${given}`);
}

interface Sweep extends SweepQuestion {
  readonly outDir: string;
  readonly threads: number;
  readonly fresh: boolean;
}

async function runWhole(sweep: Sweep, checks: Checks, args: SweepArgs): Promise<void> {
  const { file, json } = args;
  const results = await runWithProgress(sweep, args);
  const cases = sweepCases(checks.thresholds, results);
  writeCiFiles(checks, 'sweep', results.name, cases);
  // Charts bring half a second of libraries with them: the cells start without.
  const { writeSweepReport } = await import('../../report/pages/write-results.js');
  const { summaryText } = await import('../../report/terminal/summary-text.js');
  const [report] = await writeSweepReport(results, sweep.outDir);
  const columns = tableWidth();
  const shown = { file, ...(columns === undefined ? {} : { columns }) };
  writeOut(
    json
      ? `${JSON.stringify({ ...results, ...casesJson(cases) })}\n`
      : `${summaryText(results, shown)}\n${casesText(cases)}report: ${report}\n`,
  );
  failOnFailedCells(results);
  refuseMissed(cases);
}

async function runWithProgress(sweep: Sweep, args: SweepArgs): Promise<SweepResults> {
  const { quiet } = args;
  const queue = await openQueue(args);
  const { threads } = sweep;
  const openRunner = (most = threads) => queue?.runner ?? threadPool(Math.min(threads, most));
  let progress: Progress | undefined;
  let known = 0;
  let failed = 0;
  let reused = 0;
  let total = 0;
  const work = async () => {
    const results = await sweepExperiment({
      ...{ ...sweep, openRunner },
      onPlan: (cells, seeds, notes, empty) => {
        total = cells;
        if (!quiet) {
          const where = queue?.place ?? `${threads} threads`;
          writeErr(`seed ${seeds.join(', ')}: ${cells} cells on ${where}\n`);
          const lines = [...noteLines(noteTexts(notes)), ...(empty === 0 ? [] : [emptyNote(empty)])];
          writeErr(lines.map((line) => `${line}\n`).join(''));
        }
        progress = openProgress('sweep', quiet);
      },
      onUnit: ({ job }, found) => {
        if (job === 'boundCell') return;
        known++;
        if (found.status === 'failed') failed++;
        else if (found.reused) reused++;
        const note = `${known}/${total} cells${failed === 0 ? '' : `, ${failed} failed`}${queue?.note() ?? ''}`;
        progress?.update(known / total, note);
      },
    });
    progress?.stop();
    if (reused > 0 && !quiet) writeErr(`${reused} finished cells were reused\n`);
    if (!quiet) writeErr(queue?.report() ?? '');
    return results;
  };
  const kept = () => {
    progress?.stop();
    if (total === 0) return 'no cell had started';
    return `${known - failed} of ${total} cells are kept in ${sweep.outDir}; repeat the command to resume`;
  };
  return interruptible(work, kept, () => queue?.close()).finally(() => {
    progress?.stop();
    return queue?.close();
  });
}

function emptyNote(empty: number): string {
  return `note: ${plural(empty, 'combination')} without any GPU ${empty === 1 ? 'is' : 'are'} left out`;
}

function failOnFailedCells(results: SweepResults): void {
  const failed = results.cells.filter(({ status }) => status === 'failed').length;
  if (failed === 0) return;
  throw new EscapementError(
    'E_CELLS_FAILED',
    `${failed} of ${results.cells.length} cells failed; see report.html or results.csv for the causes`,
  );
}
