import { usableCores } from '../base/limits/usable.js';
import { NS_PER_MS } from '../base/units.js';
import { settingWarnings } from '../config/effective-settings.js';
import { environmentOverrides } from '../config/runtime-settings.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import {
  type OriginalSettings,
  readRuntime,
  type ServerSettings,
  type SettingsSources,
} from '../config/server-settings.js';
import { limitRuntimeCalls } from '../live/ort/runtime-limit.js';
import { warn } from '../text/terminal.js';

export interface SettingsArgs {
  readonly experiment: string | undefined;
  readonly set: readonly string[];
}

/** Sources of a live command's settings: flags, environment, file. */
export function settingsSources({ experiment, set }: SettingsArgs): SettingsSources {
  return {
    file: experiment ?? null,
    environment: environmentOverrides(process.env),
    overrides: set,
  };
}

/**
 * Settings of a server here, by `readServerSettings`, or of models, by `readRuntime`; the time limit for preparing models
 * starts now. Reports settings without effect. Throws as `read`.
 */
export async function settingsOf(
  read: (sources: SettingsSources) => Promise<OriginalSettings>,
  args: SettingsArgs,
  say = (warning: string) => warn([warning]),
): Promise<ServerSettings> {
  const loaded = await read(settingsSources(args));
  limitRuntimeCalls(loaded.settings.runtime.prepareLimit / NS_PER_MS);
  for (const warning of warningsOf(loaded)) say(warning);
  return loaded.settings;
}

/** Runtime settings of models here, when a scheduler elsewhere uses them. */
export async function runtimeOf(
  args: SettingsArgs,
  say?: (warning: string) => void,
): Promise<RuntimeSettings> {
  return (await settingsOf(readRuntime, args, say)).runtime;
}

/** Settings without effect on this machine, one per line. */
export function warningsOf(loaded: OriginalSettings): string[] {
  return settingWarnings(loaded, process.env, usableCores());
}

/** Warnings for an experiment that runs live. Only `runtime` overrides matter. */
export async function experimentWarnings(file: string, overrides: readonly string[]): Promise<string[]> {
  const set = overrides.filter((override) => /^\s*runtime\b/.test(override));
  return warningsOf(await readRuntime(settingsSources({ experiment: file, set })));
}
