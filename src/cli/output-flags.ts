import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EscapementError } from '../base/errors.js';
import { checkWritable } from '../base/files/output-file.js';
import { usageError } from './options.js';

/**
 * Throws `E_USAGE` if two outputs, by flag, are one file, or one is an input of the command; `E_FILE_WRITE` for one that
 * cannot be written, before there is anything to lose.
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

/** Path without links; as given if there is no such file yet. */
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
