import { required, text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json } from './common.js';

export const usage = usageOf({
  arguments: {
    dir: required(text('FOLDER', 'Folder with results.json or run.json (--out of sweep or simulate)')),
  },
  flags: { json },
  examples: ['report out/azure'],
});

export type ReportArgs = ArgsOf<typeof usage>;
