import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, durationOr, group, required, text } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional(
      'dir',
      required(text('Folder with run.json, requests.tsv and actions.tsv (--out of simulate, run or load)')),
    )
    .options(
      group('Options', {
        slack: durationOr(
          '0ms',
          'How far action times may be off; for live runs, whose threads wake up late',
        ),
        json,
      }),
    )
    .example([
      ['$0 check out/azure-run', ''],
      ['$0 check out/live --slack 2ms', ''],
    ])
    .epilogue(
      'Recomputes the summary of a run from its logs alone, and checks its actions against the rules. ' +
        'Exit code 5: a figure or rule does not hold.',
    );

export type CheckArgs = ArgsOf<typeof builder>;

export const check = {
  command: 'check <dir>',
  describe: 'Verify the summary of a run against its logs',
  builder,
};
