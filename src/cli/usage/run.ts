import { choiceOr, group } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { journalFlag } from './server.js';
import { usage as simulate } from './simulate.js';

export const usage = usageOf({
  arguments: simulate.arguments,
  flags: {
    ...group('Mode', {
      mode: choiceOr(['live', 'simulate'], 'live', 'Run in real time, or in simulation for comparison'),
      journal: journalFlag,
    }),
    ...simulate.flags,
  },
  examples: [
    'run experiments/live/two-models.yaml --out out/live',
    'run experiments/live/two-models.yaml --mode simulate --out out/simulated',
    'compare out/simulated out/live',
  ],
  notes: [
    'The section live of the experiment names the device. --mode simulate is escapement simulate with the ' +
      'missedWindow of live runs, unless the file sets its own, so that both results can be compared.',
    'To play an experiment against a server that runs already, ours or any other: escapement load.',
  ],
});

export type RunArgs = ArgsOf<typeof usage>;
