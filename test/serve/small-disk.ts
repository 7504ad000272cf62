import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
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
