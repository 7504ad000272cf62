import { group } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { experimentFile, json, overrideFlags } from './common.js';

export const usage = usageOf({
  arguments: { file: experimentFile },
  flags: { ...overrideFlags, ...group('Output', { json }) },
  examples: ['bound experiments/schedule-ahead.yaml --set slo=25ms'],
});

export type BoundArgs = ArgsOf<typeof usage>;
