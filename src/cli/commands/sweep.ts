import { basename, extname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { usableCores } from '../../base/limits/usable.js';
import { noteLines, noteTexts } from '../../record/policy-notes.js';
import { tableWidth } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { cellFlags, experimentFile, json, plugin, print, quiet, thresholdFlags } from '../common-options.js';
import { group, list, optional, text, toggle, type ValuesOf } from '../options.js';
import { printStatus, runShard, type ShardedSweep, shardOf } from '../shard.js';
import type { Checks } from '../thresholds.js';
import { packageVersion } from '../version.js';

export const flags = {
  file: experimentFile,
  ...group('Grid', {
    vary: list('Values of a key, e.g. slo=10ms,25ms or policy.scheduleAhead=1ms:20ms:1ms'),
    seeds: text('Seeds to repeat every cell with, e.g. 1,2,3'),
    set: list('Override a key in every cell'),
    plugin,
  }),
  ...cellFlags(),
  ...group('Execution', {
    shard: {
      ...optional(shardOf)('Run only part I of N, from 1/N to N/N, into the folder, and write no report'),
      conflicts: ['queue', 'junit'],
    },
    status: {
      ...toggle('Run nothing; print how many cells the folder has'),
      conflicts: ['shard', 'fresh', 'queue', 'junit'],
    },
  }),
  ...group('Output', { json, out: text('Folder of the results', 'out/NAME-OF-FILE'), quiet }),
  ...thresholdFlags,
};
export const examples = [
  'sweep experiments/schedule-ahead.yaml',
  'sweep run.yaml --vary slo=10ms:50ms:10ms --seeds 1,2',
  'sweep run.yaml --vary policy.kind=clockwork,fifo',
  'sweep run.yaml --shard 2/4 --out /shared/run',
  'sweep run.yaml --queue redis://host:6379',
  "sweep run.yaml --vary slo=25ms,50ms --threshold 'attainment>=99%' --junit thresholds.xml",
];
export const notes = [
  'Without --vary and --seeds, the sweep section of the file applies. Varying policy.kind drops the options that ' +
    'only other policies have. Combinations that no seed changes, such as a replayed log without noise, run once.',
  'Processes with --shard 1/N to N/N may run at the same time, on several machines. The same command without --shard ' +
    'runs what is missing and writes the report.',
  'Keys of the experiment file and policies: escapement keys [PREFIX]',
].join('\n\n');

type Args = ValuesOf<typeof flags>;

/** `escapement sweep FILE`: many runs over a grid, or a part of them, and a report that compares them. */
export async function handler(args: Args): Promise<void> {
  const { readChecks } = await import('../thresholds.js');
  const checks = readChecks(args);
  const sweep = {
    ...{ file: args.file, vary: args.vary, seeds: args.seeds, overrides: args.set, fresh: args.fresh },
    outDir: args.out ?? join('out', basename(args.file, extname(args.file))),
    threads: args.threads ?? usableCores(),
    version: packageVersion(),
    required: checks.thresholds.map(({ text }) => text),
  };
  if (args.status) await printStatus(sweep, args);
  else if (args.shard !== undefined) await runShard(sweep, args.shard, args);
  else await runWhole(sweep, checks, args);
}

async function runWhole(sweep: ShardedSweep, checks: Checks, args: Args): Promise<void> {
  const { runCells } = await import('../cell-runs.js');
  const { sweepExperiment } = await import('../../run/sweep/sweep-experiment.js');
  const { sweepCases } = await import('../../report/thresholds/cases.js');
  const { casesJson, casesText, missedText, writeJunit } = await import('../thresholds.js');
  const words = { label: 'sweep', noun: 'cell', outDir: sweep.outDir } as const;
  const results = await runCells(args, words, (runs) =>
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
  writeJunit(checks, 'sweep', results.name, cases);
  // Chart libraries take half a second to load, so the cells start without them.
  const { writeSweepReport } = await import('../../report/pages/write-results.js');
  const { summaryText } = await import('../../report/terminal/summary-text.js');
  const [report] = await writeSweepReport(results, sweep.outDir);
  const text = () => `${summaryText(results, tableWidth())}\n${casesText(cases)}report: ${report}\n`;
  print(args, { ...results, ...casesJson(cases) }, text);
  const failed = results.cells.filter(({ status }) => status === 'failed').length;
  if (failed > 0) {
    const what = `${failed} of ${results.cells.length} cells failed; see report.html or results.csv for the causes`;
    throw new EscapementError('E_CELLS_FAILED', what);
  }
  const missed = missedText(cases);
  if (missed !== '') throw new EscapementError('E_THRESHOLD', missed);
}
