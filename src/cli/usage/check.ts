import { durationOr, required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: {
    dir: required(
      text('FOLDER', 'Folder with run.json, requests.tsv and actions.tsv (--out of simulate, run or load)'),
    ),
  },
  flags: {
    slack: durationOr('0ms', 'How far action times may be off; for live runs, whose threads wake up late'),
    json,
  },
  examples: ['check out/azure-run', 'check out/live --slack 2ms'],
  notes: [
    'Recomputes the summary of a run from its logs alone, and checks its actions against the rules. ' +
      'Exit code 5: a figure or rule does not hold.',
  ],
});

export type CheckArgs = ArgsOf<typeof usage>;
