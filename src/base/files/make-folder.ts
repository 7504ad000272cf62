import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it as needed. Throws what the system says. Not by the `recursive` of mkdir: where the
 * system has no such entry although the folder above is there, as in /proc, Node 20 tries for ever.
 */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  try {
    mkdirSync(path);
  } catch (error) {
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !existsSync(parent)) {
      makeFolder(parent);
      makeFolder(path);
      return;
    }
    // Somebody else has just made it.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
