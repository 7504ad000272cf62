import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { modelDigest } from './digest.js';

/**
 * Folders for products of a model: its optimized forms and its profiles. They are read from each, in this order, and
 * written to the first: a folder below `cacheDir`; without one the model's own, or the user's cache if that is
 * read-only. Below a cache a model's folder is named by its content, so that copies share it. Throws `E_MODEL_FILE` if
 * the model cannot be read.
 */
export function productDirs(onnxPath: string, cacheDir: string | null): readonly string[] {
  const own = dirname(onnxPath);
  if (cacheDir === null && isWritable(own)) return [own];
  const digest = modelDigest(onnxPath);
  const name = `${nameOf(onnxPath)}-${digest.slice(0, DIGEST_DIGITS)}`;
  return [join(cacheDir ?? userCache(), name), own];
}

const DIGEST_DIGITS = 16;

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Folder of the model in a repository, for people who look into a cache. */
function nameOf(onnxPath: string): string {
  return basename(dirname(dirname(resolve(onnxPath)))) || 'model';
}

function userCache(): string {
  const { XDG_CACHE_HOME } = process.env;
  return join(
    XDG_CACHE_HOME === undefined || XDG_CACHE_HOME === '' ? join(homedir(), '.cache') : XDG_CACHE_HOME,
    'escapement',
    'models',
  );
}
