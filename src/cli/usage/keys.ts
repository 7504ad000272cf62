import { text } from '../flag.js';
import { type ArgsOf, usageOf } from '../usage.js';
import { json, plugin } from './common.js';

export const usage = usageOf({
  arguments: {
    prefix: text('PREFIX', 'Only keys that begin with this, or a policy or workload of this kind'),
  },
  flags: { plugin, json },
  examples: ['keys', 'keys cluster', 'keys policy.clockwork', 'keys runtime'],
});

export type KeysArgs = ArgsOf<typeof usage>;
