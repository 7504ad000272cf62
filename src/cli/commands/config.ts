import type { Argv } from 'yargs';
import { json, plugin } from '../common-options.js';
import { type ArgsOf, group, list } from '../options.js';
import { serverExperiment } from '../server-options.js';

const builder = (yargs: Argv) =>
  yargs
    .options(
      group('Options', {
        experiment: serverExperiment,
        set: list('Override one of those, e.g. runtime.intraOpThreads=2'),
        plugin,
        json,
      }),
    )
    .example([
      ['$0 config', ''],
      ['$0 config --experiment tuned.yaml --set runtime.preset=min-memory', ''],
    ])
    .epilogue(
      'Settings come from --set, environment variables, the experiment file and its preset; the first of these that ' +
        'has a value wins. Runtime settings and their environment variables: escapement keys runtime',
    );

export type ConfigArgs = ArgsOf<typeof builder>;

export const config = {
  command: 'config',
  describe: 'Print the effective settings and where each comes from',
  builder,
};
