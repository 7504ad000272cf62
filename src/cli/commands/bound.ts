import type { Argv } from 'yargs';
import { experimentFile, json, overrideFlags } from '../common-options.js';
import { type ArgsOf, group } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('file', experimentFile)
    .options({ ...overrideFlags, ...group('Output', { json }) })
    .example([['$0 bound experiments/schedule-ahead.yaml --set slo=25ms', '']]);

export type BoundArgs = ArgsOf<typeof builder>;

export const bound = {
  command: 'bound <file>',
  describe: 'Print upper bounds on the goodput of any scheduler',
  builder,
};
