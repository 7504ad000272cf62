import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from '../cli/run-cli.js';

/** An empty file system of so many bytes, which goes when the test ends; null where none can be mounted, which takes rights and Linux. */
export function smallDisk(bytes: number): string | null {
  const folder = join(tempDir(), 'disk');
  mkdirSync(folder);
  const options = ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder];
  if (spawnSync('mount', options).status !== 0) return null;
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** Takes up so many bytes of a disk. Returns what makes room again. */
export function fillDisk(disk: string, bytes: number): () => void {
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(bytes));
  return () => rmSync(filler);
}

/** Takes up all that is left of a disk, also of one that others write to at the same time. Returns what makes room again. */
export function fillUpDisk(disk: string): () => void {
  const filler = join(disk, 'filler');
  const file = openSync(filler, 'w');
  const page = Buffer.alloc(4096);
  try {
    for (;;) writeSync(file, page);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
  return () => rmSync(filler);
}
