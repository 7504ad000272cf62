import type { Argv } from 'yargs';
import { experimentFile, json, overrideFlags, quiet, thresholdFlags } from '../common-options.js';
import { type ArgsOf, group, text } from '../options.js';

export const simulateOptions = {
  ...overrideFlags,
  ...group('Output', {
    json,
    out: text('Also write summary, logs and timeline to this folder'),
    quiet,
  }),
  ...thresholdFlags,
};

const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options(simulateOptions)
    .example([
      ['$0 simulate experiments/azure.yaml --out out/azure-run', ''],
      ['$0 simulate experiments/isolation.yaml --set policy.kind=fifo', ''],
      ["$0 simulate run.yaml --seed 2 --json --threshold 'p99<100ms'", ''],
    ])
    .epilogue('Keys of the experiment file and policies: escapement keys [PREFIX]');

export type SimulateArgs = ArgsOf<typeof builder>;

export const simulate = { command: 'simulate <file>', describe: 'Simulate one experiment', builder };
