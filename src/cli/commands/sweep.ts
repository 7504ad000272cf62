import { basename, extname, join } from 'node:path';
import type { Argv } from 'yargs';
import { EscapementError } from '../../base/errors.js';
import { usableCores } from '../../base/limits/usable.js';
import { noteLines, noteTexts } from '../../record/policy-notes.js';
import { tableWidth, writeOut } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import type { CellRuns } from '../cell-runs.js';
import { experimentFile, json, plugin, queueFlags, quiet, thresholdFlags } from '../common-options.js';
import { type ArgsOf, group, list, text, toggle, usageError, whole } from '../options.js';
import { printStatus, readShard, runShard, type ShardedSweep } from '../shard.js';
import type { Checks } from '../thresholds.js';
import { packageVersion } from '../version.js';

export const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Grid', {
        vary: list('Values of a key, e.g. slo=10ms,25ms or policy.scheduleAhead=1ms:20ms:1ms'),
        seeds: text('Seeds to repeat every cell with, e.g. 1,2,3'),
        set: list('Override a key in every cell'),
        plugin,
      }),
      ...group('Execution', {
        threads: whole(1, 'Cells to run at the same time', 'one per core'),
        fresh: toggle('Run finished cells again instead of reusing them'),
        shard: text(
          'Run only part I of N into the folder, and write no report; auto takes both from a Slurm array, auto/N the ' +
            'part from the index of a Kubernetes Job',
        ),
        status: toggle('Run nothing; print how many cells the folder has'),
      }),
      ...queueFlags,
      ...group('Output', { json, out: text('Folder of the results', 'out/NAME-OF-FILE'), quiet }),
      ...thresholdFlags,
    })
    .example([
      ['$0 sweep experiments/schedule-ahead.yaml', ''],
      ['$0 sweep run.yaml --vary slo=10ms:50ms:10ms --seeds 1,2', ''],
      ['$0 sweep run.yaml --vary policy.kind=clockwork,fifo', ''],
      ['$0 sweep run.yaml --shard 2/4 --out /shared/run', ''],
      ['$0 sweep run.yaml --queue redis://host:6379', ''],
      ["$0 sweep run.yaml --vary slo=25ms,50ms --threshold 'attainment>=99%' --junit thresholds.xml", ''],
    ])
    .epilogue(
      [
        'Without --vary and --seeds, the sweep section of the file applies. Varying policy.kind drops the options that ' +
          'only other policies have. Combinations that no seed changes, such as a replayed log without noise, run once.',
        'Processes with --shard 1/N to N/N may run at the same time, on several machines. The same command without --shard ' +
          'runs what is missing and writes the report.',
        'Keys of the experiment file and policies: escapement keys [PREFIX]',
      ].join('\n\n'),
    );

type Args = ArgsOf<typeof builder>;

/** `escapement sweep FILE`: many runs over a grid, or a part of them, and a report that compares them. */
export async function handler(args: Args): Promise<void> {
  const shard = args.shard === undefined ? null : readShard(args.shard, process.env);
  if (args.status) refuseFlags(args, '--status only reads', ['shard', 'fresh', 'junit', 'markdown']);
  if (shard !== null) refuseFlags(args, 'a shard checks nothing', ['junit', 'markdown']);
  if (args.queue !== undefined)
    refuseFlags(args, 'the workers of a queue run all cells', ['shard', 'status', 'threads']);
  const { readChecks } = await import('../thresholds.js');
  const checks = readChecks(args);
  const sweep = {
    ...{ file: args.file, vary: args.vary, seeds: args.seeds, overrides: args.set, fresh: args.fresh },
    outDir: args.out ?? join('out', basename(args.file, extname(args.file))),
    threads: args.threads ?? usableCores(),
    version: packageVersion(),
    required: checks.thresholds.map(({ text }) => text),
  };
  if (args.status) await printStatus(sweep, args.json);
  else if (shard !== null) await runShard(sweep, shard, args);
  else await runWhole(sweep, checks, args);
}

/** Throws `E_USAGE` for the first of these flags that is set. */
function refuseFlags(
  args: Args,
  why: string,
  names: readonly ('shard' | 'status' | 'threads' | 'fresh' | 'junit' | 'markdown')[],
): void {
  const given = names.find((name) => args[name] !== undefined && args[name] !== false);
  if (given !== undefined) throw usageError(`${why}: leave out --${given}`);
}

async function runWhole(sweep: ShardedSweep, checks: Checks, args: Args): Promise<void> {
  const { runCells } = await import('../cell-runs.js');
  const { sweepExperiment } = await import('../../run/sweep/sweep-experiment.js');
  const { sweepCases } = await import('../../report/thresholds/cases.js');
  const { casesJson, casesText, refuseMissed, writeCiFiles } = await import('../thresholds.js');
  const kept = ({ known, failed, total }: CellRuns) =>
    total === 0
      ? 'no cell had started'
      : `${known - failed} of ${total} cells are kept in ${sweep.outDir}; repeat the command to resume`;
  const results = await runCells(args, { label: 'sweep', noun: 'cells', kept }, (runs) =>
    sweepExperiment({
      ...{ ...sweep, openRunner: runs.openRunner },
      onPlan: (cells, seeds, notes, empty) => {
        const left = `note: ${plural(empty, 'combination')} without any GPU ${empty === 1 ? 'is' : 'are'} left out`;
        const lines = [
          `seed ${seeds.join(', ')}: ${cells} cells on ${runs.place}`,
          ...noteLines(noteTexts(notes)),
          ...(empty === 0 ? [] : [left]),
        ];
        runs.begin(cells, lines.map((line) => `${line}\n`).join(''));
      },
      onUnit: ({ job }, found) => {
        if (job === 'boundCell') return;
        runs.count(found);
        const { known, total, failed } = runs;
        runs.show(`${known}/${total} cells${failed === 0 ? '' : `, ${failed} failed`}`);
      },
    }),
  );
  const cases = sweepCases(checks.thresholds, results);
  writeCiFiles(checks, 'sweep', results.name, cases);
  // Chart libraries take half a second to load, so the cells start without them.
  const { writeSweepReport } = await import('../../report/pages/write-results.js');
  const { summaryText } = await import('../../report/terminal/summary-text.js');
  const [report] = await writeSweepReport(results, sweep.outDir);
  writeOut(
    args.json
      ? `${JSON.stringify({ ...results, ...casesJson(cases) })}\n`
      : `${summaryText(results, tableWidth())}\n${casesText(cases)}report: ${report}\n`,
  );
  const failed = results.cells.filter(({ status }) => status === 'failed').length;
  if (failed > 0) {
    const what = `${failed} of ${results.cells.length} cells failed; see report.html or results.csv for the causes`;
    throw new EscapementError('E_CELLS_FAILED', what);
  }
  refuseMissed(cases);
}
