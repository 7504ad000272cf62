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

/** Files that came from another machine: each path stands for one of them, and nothing else can be opened. */
export class LocatedFiles implements ExperimentHost {
  readonly cores = ON_DISK.cores;

  /** `located`: the file on this machine for each path. */
  constructor(
    private readonly located: ReadonlyMap<string, string>,
    readonly input: InputFiles = ON_DISK.input,
  ) {}

  locate(path: string): string {
    const file = this.located.get(path);
    if (file !== undefined) return file;
    throw new EscapementError('E_FILE_MISSING', 'was not sent with the experiment', { file: path });
  }

  module(path: string): ModuleFile {
    return ON_DISK.module(this.locate(path));
  }

  entries(folder: string): Promise<readonly string[]> {
    const ways = [...this.located.keys()].map((path) => relative(folder, path).split(sep)[0] as string);
    return Promise.resolve(ways.filter((way) => way !== '..'));
  }
}
