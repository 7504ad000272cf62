import { required, text, textOr, wholeOr } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { out: required(text('FILE', 'File to write, .csv or .csv.gz')) },
  flags: {
    functions: wholeOr(1, 300, 'Number of functions'),
    minutes: wholeOr(1, 120, 'Length of the trace in minutes'),
    rate: textOr('RATE', '100/s', 'Mean rate of all functions together'),
    seed: wholeOr(0, 1, 'Seed of every random draw'),
    json,
  },
  examples: ['trace generate trace.csv.gz --functions 300 --minutes 120'],
});

export type TraceGenerateArgs = ArgsOf<typeof usage>;
