import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.js';
import { cannotWrite } from './output-file.js';

/**
 * Writes a whole file that other processes, also on other machines, may be writing at the same time: the name always
 * holds the complete content of one of them. Needs no locks, so it works on a network file system. Folders are made as
 * needed. Throws `E_FILE_WRITE`.
 */
export function writeShared(path: string, content: string): void {
  // Unique to this writer.
  const own = `${path}.${randomUUID()}.partial`;
  try {
    makeFolder(dirname(path));
    writeFileSync(own, content, { flag: 'wx' });
    renameSync(own, path);
  } catch (cause) {
    drop(own);
    throw cannotWrite(path, cause);
  }
}

function drop(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The disk is gone, or part of the path is a file: the first error is the one to report.
  }
}
