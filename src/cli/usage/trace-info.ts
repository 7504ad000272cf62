import { required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: { path: required(text('FILE', 'Trace of a known layout (.csv or .csv.gz)')) },
  flags: { json },
  examples: ['trace info trace.csv.gz'],
});

export type TraceInfoArgs = ArgsOf<typeof usage>;
