import { dirname, relative } from 'node:path';
import { STANDARD_INPUT } from '../base/files/standard-input.js';

/** What `--set` and `--seed` override in an experiment. */
export function overridesOf({
  set,
  seed,
}: {
  readonly set: readonly string[];
  readonly seed: number | undefined;
}): string[] {
  return [...set, ...(seed === undefined ? [] : [`seed=${seed}`])];
}

/**
 * Adds `--plugin` to the overrides of a command. Its paths are relative to the working directory, those of
 * overrides to the experiment file.
 */
export function withPlugins(args: Record<string, unknown>): void {
  const { plugin, set, file, experiment } = args;
  if (!Array.isArray(plugin) || plugin.length === 0 || !Array.isArray(set)) return;
  const source = [file, experiment].find((path) => typeof path === 'string' && path !== STANDARD_INPUT);
  const folder = typeof source === 'string' ? dirname(source) : '.';
  const paths = JSON.stringify(plugin.map((path) => relative(folder, path)));
  args.set = [...set, `plugins=${paths}`];
}
