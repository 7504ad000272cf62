import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { MIB } from '../../base/units.js';
import { externalFiles } from './external-data.js';
import { isFile } from './is-file.js';

/**
 * SHA-256 of a model, hex: of its file and of the files next to it that hold weights. What is made from a model, such as
 * its optimised form and its profile, belongs to this, whatever times and places its files have. Throws `E_MODEL_FILE`
 * where the model cannot be read.
 */
export function modelDigest(onnxPath: string): string {
  const hash = createHash('sha256').update(digestOf(onnxPath));
  for (const name of externalNames(onnxPath)) {
    const path = join(dirname(onnxPath), name);
    // onnxruntime reads nothing outside the model's folder, and says itself what is missing.
    const isThere = isWithin(dirname(onnxPath), path) && isFile(path);
    hash.update(JSON.stringify([name, isThere ? digestOf(path) : NO_FILE]));
  }
  return hash.digest('hex');
}

const NO_FILE = 'not there';

/** SHA-256 of a file, hex; null: there is none. Throws as `modelDigest`. */
export function fileDigest(path: string): string | null {
  return isFile(path) ? digestOf(path) : null;
}

interface Known<T> {
  /** Size, times and place of the file when it was read. */
  readonly stamp: string;
  readonly value: T;
}

// Within one process a file is read once unless something about it changes. Nothing of this is kept on disk.
const digests = new Map<string, Known<string>>();
const names = new Map<string, Known<readonly string[]>>();

function digestOf(path: string): string {
  return known(digests, path, () => hashFile(path));
}

function externalNames(onnxPath: string): readonly string[] {
  return known(names, onnxPath, () => externalFiles(readFileSync(onnxPath)));
}

function known<T>(all: Map<string, Known<T>>, path: string, read: () => T): T {
  try {
    const stamp = stampOf(path);
    const before = all.get(path);
    if (before?.stamp === stamp) return before.value;
    const value = read();
    all.set(path, { stamp, value });
    return value;
  } catch (error) {
    throw new EscapementError('E_MODEL_FILE', `cannot be read: ${(error as Error).message}`, { file: path });
  }
}

function stampOf(path: string): string {
  return textOf(statSync(path, { bigint: true }));
}

function textOf({ size, mtimeNs, ctimeNs, ino, dev }: BigIntStats): string {
  return [size, mtimeNs, ctimeNs, ino, dev].join();
}

/** In parts: files of weights may be larger than a buffer can be. */
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

function isWithin(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
