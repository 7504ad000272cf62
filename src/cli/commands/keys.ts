import type { Argv } from 'yargs';
import { json, plugin } from '../common-options.js';
import { type ArgsOf, group, text } from '../options.js';

const builder = (yargs: Argv) =>
  yargs
    .positional('prefix', text('Only keys that begin with this, or a policy or workload of this kind'))
    .options(group('Options', { plugin, json }))
    .example([
      ['$0 keys', ''],
      ['$0 keys cluster', ''],
      ['$0 keys policy.clockwork', ''],
      ['$0 keys runtime', ''],
    ]);

export type KeysArgs = ArgsOf<typeof builder>;

export const keys = {
  command: 'keys [prefix]',
  describe: 'Describe the keys of the experiment file and the policies',
  builder,
};
