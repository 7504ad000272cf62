import { readdir } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { DISK_FILES } from '../base/files/disk-files.js';
import { usableCores } from '../base/limits/usable.js';
import type { InputFiles } from '../base/world/input-files.js';
import type { ExperimentHost, ModuleFile } from './experiment-host.js';
import { moduleOnDisk } from './module-on-disk.js';

/** This machine: files are where the paths say. */
export const ON_DISK: ExperimentHost = {
  input: DISK_FILES,
  locate: (path) => path,
  module: (path) => moduleOnDisk(resolve(path)),
  entries: (folder) => readdir(folder).catch(() => []),
  cores: () => usableCores(),
};

/** A file that an experiment reads. */
export interface ReadFile {
  readonly path: string;
  readonly kind: 'data' | 'module';
}

/** The same, noting each file once. */
export class NotedFiles implements ExperimentHost {
  readonly input = ON_DISK.input;
  readonly cores = ON_DISK.cores;
  private readonly noted = new Map<string, ReadFile>();

  get files(): readonly ReadFile[] {
    return [...this.noted.values()];
  }

  locate(path: string): string {
    this.noted.set(path, { path, kind: 'data' });
    return ON_DISK.locate(path);
  }

  module(path: string): ModuleFile {
    this.noted.set(path, { path, kind: 'module' });
    return ON_DISK.module(path);
  }

  entries(folder: string): Promise<readonly string[]> {
    return ON_DISK.entries(folder);
  }
}

/** The file on this machine for each path of an experiment that came from another one. */
export interface LocatedPaths {
  /** Files that were sent: they are only ever parsed. */
  readonly data: ReadonlyMap<string, string>;
  /** Modules that the operator of this machine chose: nothing else is imported. */
  readonly modules: ReadonlyMap<string, string>;
}

/** Files of an experiment from another machine; nothing but the located ones can be opened or imported. */
export class LocatedFiles implements ExperimentHost {
  readonly cores = ON_DISK.cores;

  constructor(
    private readonly located: LocatedPaths,
    readonly input: InputFiles = ON_DISK.input,
  ) {}

  locate(path: string): string {
    const file = this.located.data.get(path);
    if (file !== undefined) return file;
    throw new EscapementError('E_FILE_MISSING', 'was not sent with the experiment', { file: path });
  }

  module(path: string): ModuleFile {
    const file = this.located.modules.get(path);
    if (file !== undefined) return ON_DISK.module(file);
    const what =
      'is not a plugin of this machine: start each worker with escapement sweep-worker --plugin FILE';
    throw new EscapementError('E_PLUGIN', what, { file: path });
  }

  entries(folder: string): Promise<readonly string[]> {
    const ways = [...this.located.data.keys()].map((path) => relative(folder, path).split(sep)[0] as string);
    return Promise.resolve(ways.filter((way) => way !== '..'));
  }
}
