import { group, list, text, toggle, whole } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { experimentFile, json, plugin, queueFlags, quiet, thresholdFlags } from './common.js';

export const usage = usageOf({
  arguments: { file: experimentFile },
  flags: {
    ...group('Grid', {
      vary: list('KEY=VALUES', 'Values of a key, e.g. slo=10ms,25ms or policy.scheduleAhead=1ms:20ms:1ms'),
      seeds: text('SEEDS', 'Seeds to repeat every cell with, e.g. 1,2,3'),
      set: list('KEY=VALUE', 'Override a key in every cell'),
      plugin,
    }),
    ...group('Execution', {
      threads: whole(1, 'Cells to run at the same time', 'one per core'),
      fresh: toggle('Run finished cells again instead of reusing them'),
      shard: text(
        'I/N',
        'Run only part I of N into the folder, and write no report; auto takes both from a Slurm array, auto/N the ' +
          'part from the index of a Kubernetes Job',
      ),
      status: toggle('Run nothing; print how many cells the folder has'),
    }),
    ...queueFlags,
    ...group('Output', { json, out: text('FOLDER', 'Folder of the results', 'out/NAME-OF-FILE'), quiet }),
    ...thresholdFlags,
  },
  examples: [
    'sweep experiments/schedule-ahead.yaml',
    'sweep run.yaml --vary slo=10ms:50ms:10ms --seeds 1,2',
    'sweep run.yaml --vary policy.kind=clockwork,fifo',
    'sweep run.yaml --shard 2/4 --out /shared/run',
    'sweep run.yaml --queue redis://host:6379',
    "sweep run.yaml --vary slo=25ms,50ms --threshold 'attainment>=99%' --junit thresholds.xml",
  ],
  notes: [
    'Without --vary and --seeds, the sweep section of the file applies. Varying policy.kind drops the options that ' +
      'only other policies have.',
    'Processes with --shard 1/N to N/N may run at the same time, on several machines. The same command without --shard ' +
      'runs what is missing and writes the report.',
    'Keys of the experiment file and policies: escapement keys [PREFIX]',
  ],
});

export type SweepArgs = ArgsOf<typeof usage>;
