import type { Argv } from 'yargs';
import { json } from '../common-options.js';
import { type ArgsOf, group, required, text } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('path', required(text('Trace of a known layout (.csv or .csv.gz)')))
    .options(group('Options', { json }))
    .example([['$0 trace info trace.csv.gz', '']]);

export type TraceInfoArgs = ArgsOf<typeof builder>;

export const traceInfo = {
  command: 'info <path>',
  describe: 'Describe a trace: rates, bursts, popularity',
  builder,
};
