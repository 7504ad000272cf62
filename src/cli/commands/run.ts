import type { Argv } from 'yargs';
import { experimentFile } from '../common-options.js';
import { type ArgsOf, choiceOr, group } from '../options.js';
import { journalFlag } from '../server-options.js';
import { simulateOptions } from './simulate.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({
      ...group('Mode', {
        mode: choiceOr(['live', 'simulate'], 'live', 'Run in real time, or in simulation for comparison'),
        journal: journalFlag,
      }),
      ...simulateOptions,
    })
    .example([
      ['$0 run experiments/live/two-models.yaml --out out/live', ''],
      ['$0 run experiments/live/two-models.yaml --mode simulate --out out/simulated', ''],
      ['$0 compare out/simulated out/live', ''],
    ])
    .epilogue(
      [
        'The section live of the experiment names the device. --mode simulate is escapement simulate with the ' +
          'missedWindow of live runs, unless the file sets its own, so that both results can be compared.',
        'To play an experiment against a server that runs already, ours or any other: escapement load.',
      ].join('\n\n'),
    );

export type RunArgs = ArgsOf<typeof builder>;

export const run = {
  command: 'run <file>',
  describe: 'Run one experiment live, in real time on real models',
  builder,
};
