import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type ModelContent, stampNow } from './digest.js';
import { callThread } from './measure/thread-call.js';
import { modelFile, type Precision } from './precision.js';
import { VERSION } from './scan.js';

/** What a repository holds of a model now, next to what a server loaded at its start. */
export type DiskState =
  | { readonly kind: 'same' | 'changed' | 'settingsChanged' | 'gone' }
  /** The highest version is not the one that was loaded. */
  | { readonly kind: 'otherVersion'; readonly version: string }
  /** It was not loaded; `added`: the repository holds it. */
  | { readonly kind: 'added' | 'absent' };

/** A model's files as they were when it was loaded. */
export interface ModelSource {
  readonly name: string;
  readonly version: string;
  readonly onnxPath: string;
  readonly content: ModelContent;
  /** SHA-256 of its `config.yaml`, hex; null: it has none. */
  readonly settings: string | null;
}

/** What was loaded of a repository, of which every model is at one precision. */
export interface LoadedRepository {
  readonly dir: string;
  readonly precision: Precision;
  readonly models: readonly ModelSource[];
}

/**
 * Compares a repository with what was loaded from it. Files are only read where their stamps have changed, and hashed in
 * a thread of their own.
 */
export class ModelsOnDisk {
  private readonly sources: ReadonlyMap<string, ModelSource>;
  /** By model: what was read last. */
  private readonly contents = new Map<string, ModelContent>();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly loaded: LoadedRepository) {
    this.sources = new Map(loaded.models.map((source) => [source.name, source]));
  }

  /** One look at a time, so that many who ask do not hash the same files at once. Rejects where they cannot be read. */
  look(name: string): Promise<DiskState> {
    const state = this.turn.then(() => this.compare(name));
    this.turn = state.catch(() => {});
    return state;
  }

  private async compare(name: string): Promise<DiskState> {
    const source = this.sources.get(name);
    const { dir } = this.loaded;
    // The name is a client's: it is looked for in the folder, and never made a path before it was found there.
    const isThere = !name.startsWith('.') && (await namesIn(dir)).includes(name);
    const version = isThere ? await this.version(join(dir, name)) : null;
    if (source === undefined) return { kind: version === null ? 'absent' : 'added' };
    if (version === null) return { kind: 'gone' };
    if (version !== source.version) return { kind: 'otherVersion', version };
    if ((await this.contentOf(source)).digest !== source.content.digest) return { kind: 'changed' };
    const settings = await smallDigest(join(dir, name, 'config.yaml'));
    return { kind: settings === source.settings ? 'same' : 'settingsChanged' };
  }

  /** The highest version of which the model is there; null: none. */
  private async version(modelDir: string): Promise<string | null> {
    const names = await namesIn(modelDir);
    const isThere = await Promise.all(
      names.map((name) => hasFile(modelFile(join(modelDir, name), this.loaded.precision))),
    );
    return highestVersion(names.filter((_, i) => isThere[i]));
  }

  private async contentOf(source: ModelSource): Promise<ModelContent> {
    const { name, onnxPath } = source;
    const known = this.contents.get(name) ?? source.content;
    const stamps = Object.entries(known.stamps);
    const now = await Promise.all(stamps.map(([path]) => stampNow(path)));
    if (stamps.every(([, stamp], i) => stamp === now[i])) return known;
    const content = await callThread<ModelContent>('../digest-thread.js', onnxPath, () => {});
    this.contents.set(name, content);
    return content;
  }
}

/** Null: none of the names is a version. */
function highestVersion(names: readonly string[]): string | null {
  const versions = names.filter((name) => VERSION.test(name));
  return versions.length === 0 ? null : versions.reduce((a, b) => (Number(b) > Number(a) ? b : a));
}

/** None where there is no such folder. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

async function hasFile(path: string): Promise<boolean> {
  return (await namesIn(dirname(path))).includes(basename(path));
}

/** As `fileDigest`, of a file too small to take long. */
async function smallDigest(path: string): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
