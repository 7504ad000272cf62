import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { EscapementError } from '../core/errors.js';

/** Writes under a temporary name and renames, so that what bears the name is whole. Throws `E_FILE_WRITE`. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const partial = `${path}.part`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(partial, content);
    renameSync(partial, path);
  } catch (error) {
    if (existsSync(partial)) rmSync(partial);
    const reason = error instanceof Error ? error.message : String(error);
    throw new EscapementError(
      'E_FILE_WRITE',
      `cannot be written (${reason}); choose a folder that you may write to`,
      {
        file: path,
      },
    );
  }
}
