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

function warned(loaded: OriginalSettings): ServerSettings {
  for (const warning of warningsOf(loaded)) process.stderr.write(`warning: ${warning}\n`);
  return loaded.settings;
}
