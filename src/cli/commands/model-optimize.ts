import type { Argv } from 'yargs';
import { json, precisionFlag } from '../common-options.js';
import { type ArgsOf, group } from '../options.js';
import { cacheFlags, deviceFlags } from '../server-options.js';
import { repositoryFolder } from './model-list.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('repository', repositoryFolder)
    .options(
      group('Options', {
        device: { ...deviceFlags.device, group: 'Options' },
        precision: precisionFlag,
        'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' },
        json,
      }),
    )
    .example([['$0 model optimize models --device webgpu', '']])
    .epilogue('Files that are up to date are kept.');

export type ModelOptimizeArgs = ArgsOf<typeof builder>;

export const modelOptimize = {
  command: 'optimize [repository]',
  describe: 'Write the optimized files (.ort) that a device loads',
  builder,
};
