import { type BigIntStats, statSync } from 'node:fs';
import { EscapementError } from '../errors.js';

interface Known<T> {
  /** Size, times and place of the file when it was read. */
  readonly stamp: string;
  readonly value: T;
}

/**
 * Caches the result of `read` by path within one thread: a file is read again only if its metadata changes. Nothing is
 * kept on disk. The returned function throws `E_FILE_MISSING` if the file cannot be read.
 */
export function whileUnchanged<T>(read: (path: string) => T): (path: string) => T {
  const all = new Map<string, Known<T>>();
  return (path) => {
    try {
      const stamp = stampOf(statSync(path, { bigint: true }));
      const before = all.get(path);
      if (before?.stamp === stamp) return before.value;
      const value = read(path);
      all.set(path, { stamp, value });
      return value;
    } catch (error) {
      const what = `cannot be read: ${(error as Error).message}`;
      throw new EscapementError('E_FILE_MISSING', what, { file: path });
    }
  };
}

function stampOf({ size, mtimeNs, ctimeNs, ino, dev }: BigIntStats): string {
  return [size, mtimeNs, ctimeNs, ino, dev].join();
}
