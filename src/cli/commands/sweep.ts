import type { Argv } from 'yargs';
import { experimentFile, json, plugin, queueFlags, quiet, thresholdFlags } from '../common-options.js';
import { type ArgsOf, group, list, text, toggle, whole } from '../options.js';

const builder = (yargs: Argv) =>
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
          'only other policies have.',
        'Processes with --shard 1/N to N/N may run at the same time, on several machines. The same command without --shard ' +
          'runs what is missing and writes the report.',
        'Keys of the experiment file and policies: escapement keys [PREFIX]',
      ].join('\n\n'),
    );

export type SweepArgs = ArgsOf<typeof builder>;

export const sweep = {
  command: 'sweep <file>',
  describe: 'Simulate a grid of values and seeds and recommend the best',
  builder,
};
