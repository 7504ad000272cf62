import { group, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { experimentFile, json, overrideFlags, quiet, thresholdFlags } from './common.js';

export const usage = usageOf({
  arguments: { file: experimentFile },
  flags: {
    ...overrideFlags,
    ...group('Output', {
      json,
      out: text('FOLDER', 'Also write summary, logs and timeline to this folder'),
      quiet,
    }),
    ...thresholdFlags,
  },
  examples: [
    'simulate experiments/azure.yaml --out out/azure-run',
    'simulate experiments/isolation.yaml --set policy.kind=fifo',
    "simulate run.yaml --seed 2 --json --threshold 'p99<100ms'",
  ],
  notes: ['Keys of the experiment file and policies: escapement keys [PREFIX]'],
});

export type SimulateArgs = ArgsOf<typeof usage>;
