import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { fileDigest } from '../../base/files/file-digest.js';
import { whileUnchanged } from '../../base/files/while-unchanged.js';
import { externalFiles } from './external-data.js';
import { isWithinFolder } from './labels.js';

/**
 * SHA-256 of a model, hex: of its file and the adjacent files that hold weights. Products of a model, such as its
 * optimized form and its profile, belong to this digest, whatever the times and places of its files. Throws
 * `E_MODEL_FILE` if the model cannot be read.
 */
export function modelDigest(onnxPath: string): string {
  try {
    return digestOf(onnxPath);
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    throw new EscapementError('E_MODEL_FILE', error.what, error.place);
  }
}

const externalNames = whileUnchanged((onnxPath) => externalFiles(readFileSync(onnxPath)));
const NO_FILE = 'not there';

function digestOf(onnxPath: string): string {
  // Names the file if it is missing.
  const names = externalNames(onnxPath);
  const hash = createHash('sha256').update(fileDigest(onnxPath) ?? NO_FILE);
  for (const name of names) {
    // onnxruntime reads nothing outside the model's folder, and reports missing files itself.
    const digest = isWithinFolder(name) ? fileDigest(join(dirname(onnxPath), name)) : null;
    hash.update(JSON.stringify([name, digest ?? NO_FILE]));
  }
  return hash.digest('hex');
}
