import type { InputFiles, KeptValues, ParseFile } from './input-files.js';

/** Limit on the total size of cached files; the latest may exceed it alone. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_VALUES = 32;

interface Kept {
  readonly parse: ParseFile<unknown>;
  readonly path: string;
  readonly version: string;
  readonly bytes: number;
  readonly value: Promise<unknown>;
}

/** Cache of values parsed from files, for later runs in the same thread, as long as the files do not change. */
export class ParsedFiles implements KeptValues {
  /** Latest last. */
  private kept: Kept[] = [];

  async of<T>(files: InputFiles, path: string, parse: ParseFile<T>): Promise<T> {
    const { version, bytes } = await files.stat(path);
    const found = this.kept.find((one) => one.parse === parse && one.path === path);
    const latest =
      found?.version === version ? found : { parse, path, version, bytes, value: parse(files, path) };
    this.keep([...this.kept.filter((one) => one !== found), latest]);
    try {
      return (await latest.value) as T;
    } catch (error) {
      // It may be readable next time.
      this.kept = this.kept.filter((one) => one !== latest);
      throw error;
    }
  }

  private keep(all: readonly Kept[]): void {
    let from = all.length - 1;
    let total = all[from].bytes;
    while (from > 0 && all.length - from < MOST_VALUES && total + all[from - 1].bytes <= MOST_BYTES)
      total += all[--from].bytes;
    this.kept = all.slice(from);
  }
}

/** Result of `parse` on a file: cached, if `files` has a cache. Rejects as `parse` does. */
export function parsed<T>(files: InputFiles, path: string, parse: ParseFile<T>): Promise<T> {
  return files.parsed === undefined ? parse(files, path) : files.parsed.of(files, path, parse);
}
