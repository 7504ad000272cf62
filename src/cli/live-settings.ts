import { cpus } from 'node:os';
import { usableCores } from '../base/limits/usable.js';
import { NS_PER_MS } from '../base/units.js';
import { settingWarnings } from '../config/effective-settings.js';
import { environmentOverrides } from '../config/runtime-settings.js';
import type { RuntimeSettings } from '../config/schema-runtime.js';
import {
  type OriginalSettings,
  readRuntime,
  readServerSettings,
  type ServerSettings,
  type SettingsSources,
} from '../config/server-settings.js';
import { limitRuntimeCalls } from '../live/ort/runtime-limit.js';
import { writeErr } from '../text/terminal.js';

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

/**
 * The settings of a server here; how long models may take to be prepared counts from now on. Says which settings have no
 * effect. Throws as `readServerSettings`.
 */
export async function serverSettingsOf(args: SettingsArgs, say = warnOnStderr): Promise<ServerSettings> {
  return inEffect(await readServerSettings(settingsSources(args)), say);
}

/** The same of how models run here, where others schedule. */
export async function runtimeOf(args: SettingsArgs, say = warnOnStderr): Promise<RuntimeSettings> {
  return inEffect(await readRuntime(settingsSources(args)), say).runtime;
}

/** Settings that have no effect on this machine, a line each. */
export function warningsOf(loaded: OriginalSettings): string[] {
  return settingWarnings(loaded, {
    environment: process.env,
    cores: usableCores(),
    processors: cpus().length,
  });
}

/** Those of an experiment that runs live. Of its overrides only those of `runtime` matter. */
export async function experimentWarnings(file: string, overrides: readonly string[]): Promise<string[]> {
  const set = overrides.filter((override) => /^\s*runtime\b/.test(override));
  return warningsOf(await readRuntime(settingsSources({ experiment: file, set })));
}

/** Prints warnings on stderr. */
export function warn(warnings: readonly string[]): void {
  for (const warning of warnings) warnOnStderr(warning);
}

function inEffect(loaded: OriginalSettings, say: (warning: string) => void): ServerSettings {
  limitRuntimeCalls(loaded.settings.runtime.prepareLimit / NS_PER_MS);
  for (const warning of warningsOf(loaded)) say(warning);
  return loaded.settings;
}

function warnOnStderr(warning: string): void {
  writeErr(`warning: ${warning}\n`);
}
