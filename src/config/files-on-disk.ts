import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { EscapementError } from '../base/errors.js';
import { DISK_FILES, readInput } from '../base/files/disk-files.js';
import type { InputFiles } from '../base/world/input-files.js';
import { type ExperimentHost, type LoadedModule, type ModuleFile, reasonOf } from './experiment-host.js';

/** This machine: files are at their paths. */
export const ON_DISK: ExperimentHost = {
  input: DISK_FILES,
  locate: (path) => path,
  module: (path) => {
    const file = resolve(path);
    return { path: file, load: () => load(file) };
  },
  entries: (folder) => readdir(folder).catch(() => []),
};

/** A file that an experiment reads. */
export interface ReadFile {
  readonly path: string;
  readonly kind: 'data' | 'module';
}

/** Files on disk, with each one noted once. */
export class NotedFiles implements ExperimentHost {
  readonly input = ON_DISK.input;
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

/** Local files for the paths of an experiment from another machine. */
export interface LocatedPaths {
  /** Files that were sent: they are only ever parsed. */
  readonly data: ReadonlyMap<string, string>;
  /** Modules chosen by the operator of this machine: nothing else is imported. */
  readonly modules: ReadonlyMap<string, string>;
}

/** Files of an experiment from another machine; only the located ones can be opened or imported. */
export class LocatedFiles implements ExperimentHost {
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

async function load(path: string): Promise<LoadedModule> {
  const bytes = await readInput(path);
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  // With the digest in its address, an edited module is loaded again in a running process.
  const address = `${pathToFileURL(path).href}?${digest}`;
  try {
    return { digest, exports: await import(address) };
  } catch (error) {
    const reason = reasonOf(error, path);
    const advice = /package 'escapement['/]/.test(reason) ? `: run npm install ${PACKAGE} in its folder` : '';
    throw new EscapementError('E_PLUGIN', `cannot be loaded: ${reason}${advice}`, { file: path });
  }
}

/** Folder of this package. src/config and dist/config are equally deep. */
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
