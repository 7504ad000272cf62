import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { MIB } from '../units.js';
import { isFile } from './is-file.js';
import { whileUnchanged } from './while-unchanged.js';

const digestOf = whileUnchanged(hashFile);

/** SHA-256 of a file's content, hex; null if it does not exist. Throws `E_FILE_MISSING` if it cannot be read. */
export function fileDigest(path: string): string | null {
  return isFile(path) ? digestOf(path) : null;
}

/** Chunk size: files of weights may be larger than the largest buffer. */
const PART_BYTES = 4 * MIB;

function hashFile(path: string): string {
  const hash = createHash('sha256');
  const part = Buffer.allocUnsafe(PART_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let bytes = readSync(file, part); bytes > 0; bytes = readSync(file, part)) {
      hash.update(part.subarray(0, bytes));
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}
