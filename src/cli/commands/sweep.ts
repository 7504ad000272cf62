import { basename, extname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { noteLines } from '../../record/policy-notes.js';
import type { SweepQuestion } from '../../run/sweep/plan-sweep.js';
import type { Shard } from '../../run/sweep/units.js';
import { tableWidth } from '../../text/terminal.js';
import { plural } from '../../text/words.js';
import { cellFlags, experimentFile, json, plugin, print, quiet, thresholdFlags } from '../common-options.js';
import { group, list, option, text, type ValuesOf } from '../options.js';
import type { Checks } from '../thresholds.js';

export const flags = {
  file: experimentFile,
  ...group('Grid', {
    vary: list('Values of a key, e.g. slo=10ms,25ms or policy.scheduleAhead=1ms:20ms:1ms'),
    seeds: text('Seeds to repeat every cell with, e.g. 1:3 or 1,2,3; 3 is only the seed 3'),
    set: list('Override a key in every cell'),
    plugin,
  }),
  ...cellFlags(),
  ...group('Execution', {
    shard: {
      ...option(shardOf)('Run only part I of N, from 1/N to N/N, into the folder, and write no report'),
      conflicts: ['queue', 'junit'],
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
    vary: args.vary,
    outDir: args.out ?? join('out', basename(args.file, extname(args.file))),
    required: checks.thresholds.map(({ text }) => text),
  };
  if (args.shard !== undefined) await runShard(sweep, args.shard, args);
  else await runWhole(sweep, checks, args);
}

interface Sweep extends Pick<SweepQuestion, 'vary' | 'required'> {
  readonly outDir: string;
}

async function runWhole(sweep: Sweep, checks: Checks, args: Args): Promise<void> {
  const { runCells } = await import('../cell-runs.js');
  const { sweepExperiment } = await import('../../run/sweep/sweep-experiment.js');
  const { sweepCases } = await import('../../report/thresholds/cases.js');
  const { casesJson, casesText, missedText, writeJunit } = await import('../thresholds.js');
  const words = { label: 'sweep', noun: 'cell', outDir: sweep.outDir } as const;
  const results = await runCells(args, words, (request, runs) =>
    sweepExperiment({
      ...{ ...request, ...sweep },
      onPlan: (cells, seeds, notes) => {
        const lines = [`seed ${seeds.join(', ')}: ${cells} cells on ${runs.place}`, ...noteLines(notes)];
        runs.begin(cells, lines.map((line) => `${line}\n`).join(''));
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

/** Parses `2/4`. Parts count from 0 or from 1, like array jobs of batch systems. */
export function shardOf(given: string): Shard {
  const [, index, count] = (/^(\d+)\/(\d+)$/.exec(given) ?? []).map(Number);
  if (index !== undefined && count !== undefined && count > 0 && index <= count) return { index, count };
  throw new Error('write I/N, the part and the number of parts, such as 1/4 to 4/4');
}

/** `sweep --shard`: runs a part of the cells, and leaves the report to a call without it. */
async function runShard(sweep: Sweep, shard: Shard, args: Args): Promise<void> {
  const { sweepShard } = await import('../../run/sweep/sweep-experiment.js');
  const { runCells } = await import('../cell-runs.js');
  const name = `${shard.index}/${shard.count}`;
  const failed: { readonly id: string; readonly code: string; readonly message: string }[] = [];
  const words = { label: `shard ${name}`, noun: 'run', outDir: sweep.outDir } as const;
  const { total, reused } = await runCells(args, words, async (request, runs) => {
    await sweepShard({
      ...{ ...request, ...sweep, shard },
      onPlan: (units) => runs.begin(units, `shard ${name}: ${plural(units, 'run')} on ${runs.place}\n`),
      onUnit: ({ id }, found) => {
        if (found.status === 'failed') failed.push({ id, code: found.code, message: found.message });
        runs.count(found);
      },
    });
    return runs;
  });
  print(args, { shard: name, runs: total, reused, failed }, () => {
    const failures = failed.map(({ id, code, message }) => `failed: ${id}: ${code}: ${message}\n`).join('');
    return `shard ${name}: ${plural(total, 'run')}, ${reused} of them finished before\n${failures}`;
  });
  if (failed.length === 0) return;
  const what = `${failed.length} of ${plural(total, 'run')} of this shard failed`;
  throw new EscapementError('E_CELLS_FAILED', what);
}
