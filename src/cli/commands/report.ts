import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('dir', required(text('Folder with results.json or run.json (--out of sweep or simulate)')))
    .options(group('Options', { json }))
    .example([['$0 report out/azure', '']]);

export type ReportArgs = ArgsOf<typeof builder>;

export const report = {
  command: 'report <dir>',
  describe: 'Draw charts and a report from the results of a run or sweep',
  builder,
};
