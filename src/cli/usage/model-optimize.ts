import { type ArgsOf, usageOf } from '../usage.js';
import { json, precisionFlag } from './common.js';
import { repositoryFolder } from './model-list.js';
import { cacheFlags, deviceFlags } from './server.js';

export const usage = usageOf({
  arguments: { repository: repositoryFolder },
  flags: {
    device: { ...deviceFlags.device, group: 'Options' },
    precision: precisionFlag,
    'cache-dir': { ...cacheFlags['cache-dir'], group: 'Options' },
    json,
  },
  examples: ['model optimize models --device webgpu'],
  notes: ['Files that are up to date are kept.'],
});

export type ModelOptimizeArgs = ArgsOf<typeof usage>;
