import { dirname, isAbsolute, join } from 'pathe';
import type { InputFiles } from '../base/world/input-files.js';

/**
 * Where an experiment is read: the files that it names, and what the machine can do. Paths are as the loader sees them:
 * relative to where it runs.
 */
export interface ExperimentHost {
  /** What located files are read with. */
  readonly input: InputFiles;
  /** The file to open for a profile, a list of models or a trace. Throws `E_FILE_MISSING`. */
  locate(path: string): string;
  /** The module to import for a plugin. Throws `E_PLUGIN`. */
  module(path: string): ModuleFile;
  /** Names in a folder; none where it cannot be read. */
  entries(folder: string): Promise<readonly string[]>;
  /** Threads that may run at the same time. */
  cores(): number;
}

/** A module that is not loaded yet. */
export interface ModuleFile {
  /** The same for the same module. */
  readonly path: string;
  /** Throws `E_FILE_MISSING` and `E_PLUGIN`. */
  load(): Promise<LoadedModule>;
}

export interface LoadedModule {
  /** Of its text. */
  readonly digest: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** A path of the experiment file as seen from where the program runs. */
export function relativeTo(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** What went wrong in a module, with the line if the error has one. */
export function reasonOf(error: unknown, path: string): string {
  if (!(error instanceof Error)) return String(error);
  const line = error.stack?.split(path)[1]?.match(/^(?:\?[0-9a-f]+)?:(\d+)/)?.[1];
  const missing = (error as Error & { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND';
  const what = missing ? error.message.replace(/ imported from .*/s, '') : `${error.name}: ${error.message}`;
  return `${what}${line === undefined ? '' : ` (line ${line})`}`;
}
