import { readdir } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { EscapementError } from '../base/errors.js';

/** Where the files that an experiment names are. Paths are as the loader sees them: relative to where it runs. */
export interface ExperimentFiles {
  /** The file to open for a profile, a list of models or a trace. Throws `E_FILE_MISSING`. */
  locate(path: string): string;
  /** The module to import for a plugin. Throws `E_PLUGIN`. */
  module(path: string): string;
  /** Names in a folder; none where it cannot be read. */
  entries(folder: string): Promise<readonly string[]>;
}

/** What the paths say. */
export const ON_DISK: ExperimentFiles = {
  locate: (path) => path,
  module: (path) => resolve(path),
  entries: (folder) => readdir(folder).catch(() => []),
};

/** A path of the experiment file as seen from where the program runs. */
export function relativeTo(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** A file that an experiment reads. */
export interface ReadFile {
  readonly path: string;
  readonly kind: 'data' | 'module';
}

/** The same, noting each file once. */
export class NotedFiles implements ExperimentFiles {
  private readonly noted = new Map<string, ReadFile>();

  get files(): readonly ReadFile[] {
    return [...this.noted.values()];
  }

  locate(path: string): string {
    this.noted.set(path, { path, kind: 'data' });
    return ON_DISK.locate(path);
  }

  module(path: string): string {
    this.noted.set(path, { path, kind: 'module' });
    return ON_DISK.module(path);
  }

  entries(folder: string): Promise<readonly string[]> {
    return ON_DISK.entries(folder);
  }
}

/** Files that came from another machine: each path stands for one of them, and nothing else can be opened. */
export class LocatedFiles implements ExperimentFiles {
  /** `located`: the file on this machine for each path. */
  constructor(private readonly located: ReadonlyMap<string, string>) {}

  locate(path: string): string {
    const file = this.located.get(path);
    if (file !== undefined) return file;
    throw new EscapementError('E_FILE_MISSING', 'was not sent with the experiment', { file: path });
  }

  module(path: string): string {
    return this.locate(path);
  }

  entries(folder: string): Promise<readonly string[]> {
    const ways = [...this.located.keys()].map((path) => relative(folder, path).split(sep)[0] as string);
    return Promise.resolve(ways.filter((way) => way !== '..'));
  }
}
