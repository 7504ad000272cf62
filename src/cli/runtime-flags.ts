import type { Options } from 'yargs';
import { environmentOverrides } from '../experiment/environment.js';
import type { SettingsSources } from '../experiment/server-settings.js';
import { manyValues, oneValue } from './args.js';

/** Flags of commands that execute models, and so take `runtime` of an experiment. */
export const runtimeFlags = {
  experiment: oneValue({ describe: 'Experiment file whose runtime section applies' }),
  set: manyValues({ describe: 'Override a runtime setting, e.g. --set runtime.intraOpThreads=2' }),
} satisfies Record<string, Options>;

export interface SettingsArgs {
  readonly experiment: string | undefined;
  readonly set: readonly string[];
}

/** Where a live command's settings come from: its flags, its environment, its file. */
export function settingsSources({ experiment, set }: SettingsArgs): SettingsSources {
  return {
    file: experiment ?? null,
    environment: environmentOverrides(process.env),
    overrides: set,
  };
}
