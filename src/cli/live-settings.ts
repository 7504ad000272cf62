import { availableParallelism } from 'node:os';
import type { RuntimeSettings } from '../experiment/runtime-settings.js';
import {
  type OriginalSettings,
  readRuntime,
  readServerSettings,
  type ServerSettings,
} from '../experiment/server-settings.js';
import { settingWarnings } from '../experiment/setting-warnings.js';
import { type SettingsArgs, settingsSources } from './runtime-flags.js';

/** What a server goes by here. Says on stderr which settings have no effect. Throws as `readServerSettings`. */
export async function serverSettingsOf(args: SettingsArgs): Promise<ServerSettings> {
  return warned(await readServerSettings(settingsSources(args)));
}

/** How models run here, where others schedule. Says on stderr which settings have no effect. */
export async function runtimeOf(args: SettingsArgs): Promise<RuntimeSettings> {
  return warned(await readRuntime(settingsSources(args))).runtime;
}

/** Settings that were given in vain on this machine, a line each. */
export function warningsOf(loaded: OriginalSettings): string[] {
  return settingWarnings(loaded, { environment: process.env, processors: availableParallelism() });
}

/** Those of an experiment that runs live. Of its overrides only those of `runtime` matter. */
export async function experimentWarnings(file: string, overrides: readonly string[]): Promise<string[]> {
  const set = overrides.filter((override) => /^\s*runtime\b/.test(override));
  return warningsOf(await readRuntime(settingsSources({ experiment: file, set })));
}

/** Says on stderr what is amiss and no reason to stop. */
export function warn(warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
}

function warned(loaded: OriginalSettings): ServerSettings {
  warn(warningsOf(loaded));
  return loaded.settings;
}
