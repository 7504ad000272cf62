import { openSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { NumberedFile } from '../world/disk.js';
import { makeFolder } from './make-folder.js';

const PACKED = '.gz';

/** Existing files of a name, oldest first, without folders and files deleted in the meantime. */
export function numberedFiles(name: string): NumberedFile[] {
  const { stem, ending } = split(basename(name));
  const folder = dirname(name);
  return namesIn(folder)
    .flatMap((file) => {
      const number = file === basename(name) ? 0 : numberIn(file, stem, ending);
      const path = join(folder, file);
      const found = number === null ? undefined : statSync(path, { throwIfNoEntry: false });
      if (number === null || !found?.isFile()) return [];
      return [{ path, number, bytes: found.size, touchedMs: found.mtimeMs }];
    })
    .sort((a, b) => a.number - b.number);
}

/**
 * Creates and opens the next file of a name, after all existing ones. No other process gets the same one. A pipe or a
 * device is opened as it is. Throws the system's error.
 */
export function createNumbered(name: string): { readonly path: string; readonly fd: number } {
  const there = statSync(name, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) return { path: name, fd: openSync(name, 'w') };
  makeFolder(dirname(name));
  const last = numberedFiles(name).at(-1)?.number ?? -1;
  const { stem, ending } = split(basename(name));
  for (let number = last + 1; ; number++) {
    const path = join(dirname(name), number === 0 ? basename(name) : `${stem}.${number}${ending}`);
    try {
      return { path, fd: openSync(path, 'wx') };
    } catch (error) {
      // Another process was faster, or it is a dangling link.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function split(name: string): { readonly stem: string; readonly ending: string } {
  if (!name.endsWith(PACKED)) return { stem: name, ending: '' };
  return { stem: name.slice(0, -PACKED.length), ending: PACKED };
}

function numberIn(file: string, stem: string, ending: string): number | null {
  if (!file.startsWith(`${stem}.`) || !file.endsWith(ending)) return null;
  const digits = file.slice(stem.length + 1, file.length - ending.length);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : null;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
