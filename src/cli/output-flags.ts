import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EscapementError } from '../base/errors.js';
import { checkWritable } from '../base/files/output-file.js';
import { usageError } from './options.js';

/**
 * Throws `E_USAGE` if two output flags name the same file, or one names an input of the command, and `E_FILE_WRITE` for
 * a file that cannot be written, before any work is done.
 */
export function checkOutputFlags(
  outputs: Readonly<Record<string, string | undefined>>,
  inputs: readonly string[],
): void {
  const taken = new Map<string, string | null>(inputs.map((input) => [placeOf(input), null]));
  for (const [flag, path] of Object.entries(outputs)) {
    if (path === undefined) continue;
    const other = taken.get(placeOf(path));
    if (other === null) throw usage(flag, path, 'is the input of this command; choose another file');
    if (other !== undefined) throw usage(flag, path, `is also the file of --${other}; choose two files`);
    taken.set(placeOf(path), flag);
    checkWritable(path);
  }
}

/** Path with links resolved; as given if the file does not exist yet. */
function placeOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function usage(flag: string, path: string, problem: string): EscapementError {
  return usageError(`--${flag} ${path}: ${problem}`);
}
