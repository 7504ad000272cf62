import { dirname, isAbsolute, join } from 'pathe';
import type { InputFiles } from '../base/world/input-files.js';

/** Host whose files an experiment reads. Paths are as the loader sees them: relative to the working directory. */
export interface ExperimentHost {
  /** Reads located files. */
  readonly input: InputFiles;
  /** File to open for a profile, a list of models or a trace. Throws `E_FILE_MISSING`. */
  locate(path: string): string;
  /** Module to import for a plugin. Throws `E_PLUGIN`. */
  module(path: string): ModuleFile;
  /** Names in a folder; empty if it is unreadable. */
  entries(folder: string): Promise<readonly string[]>;
}

/** A module that is not loaded yet. */
export interface ModuleFile {
  /** Equal for the same module. */
  readonly path: string;
  /** Throws `E_FILE_MISSING` and `E_PLUGIN`. */
  load(): Promise<LoadedModule>;
}

export interface LoadedModule {
  /** Digest of its text. */
  readonly digest: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** A path of the experiment file, relative to the working directory. */
export function relativeTo(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** Cause of a failure in a module, with the line if the error has one. */
export function reasonOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split(path)[1]?.match(/^(?:\?[0-9a-f]+)?:(\d+)/)?.[1];
  const missing = (error as Error & { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
  const what = missing ? error.message.replace(/ imported from .*/s, '') : `${error.name}: ${error.message}`;
  return `${what}${line === undefined ? '' : ` (line ${line})`}`;
}
