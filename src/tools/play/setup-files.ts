import { readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative } from 'pathe';
import { EscapementError } from '../../base/errors.js';
import { inputPath } from '../../base/files/input-path.js';
import type { SourceDocument } from '../../config/document.js';
import type { ReadFile } from '../../config/files-on-disk.js';
import { MOST_SETUP_BYTES, type Setup } from '../../play/share/address.js';

/**
 * An experiment with the files that it reads, for a page, which cannot read them itself. Throws `E_PLUGIN` for modules, and
 * `E_USAGE` where they are more than a page can hold.
 */
export function setupWithFiles(
  { file, text }: Pick<SourceDocument, 'file' | 'text'>,
  overrides: readonly string[],
  read: readonly ReadFile[],
): Setup {
  const module = read.find(({ kind }) => kind === 'module');
  if (module !== undefined)
    throw new EscapementError('E_PLUGIN', 'a page cannot load modules: play with built-in policies', {
      file: module.path,
    });
  const files = read.map(({ path }) => {
    const named = isAbsolute(path) ? path : relative(dirname(file), path);
    return [named, contentOf(readFileSync(inputPath(path)))] as const;
  });
  const bytes = files.reduce((sum, [, content]) => sum + content.length, text.length);
  if (bytes > MOST_SETUP_BYTES) {
    const what = `it reads ${(bytes / 1e6).toFixed(1)} MB, and a page holds ${MOST_SETUP_BYTES / 1e6} MB: use a shorter trace`;
    throw new EscapementError('E_USAGE', what, { file });
  }
  return { file: basename(file), text, overrides, lanes: [[]], files: Object.fromEntries(files) };
}

/** Text where it is text: it packs better. */
function contentOf(bytes: Buffer): string | Uint8Array {
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes;
}
