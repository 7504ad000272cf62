import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text, textOr, wholeOr } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('out', required(text('File to write, .csv or .csv.gz')))
    .options(
      group('Options', {
        functions: wholeOr(1, 300, 'Number of functions'),
        minutes: wholeOr(1, 120, 'Length of the trace in minutes'),
        rate: textOr('100/s', 'Mean rate of all functions together'),
        seed: wholeOr(0, 1, 'Seed of every random draw'),
        json,
      }),
    )
    .example([['$0 trace generate trace.csv.gz --functions 300 --minutes 120', '']]);

export type TraceGenerateArgs = ArgsOf<typeof builder>;

export const traceGenerate = {
  command: 'generate <out>',
  describe: 'Generate a trace like that of Azure Functions 2019',
  builder,
};
