import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EscapementError } from '../base/errors.js';
import { usageError } from './options.js';

/** Files by name of their flag. */
type Outputs = Readonly<Record<string, string | undefined>>;

/** True if the beginning of a file, or the type by its name, shows that it holds something else. */
const IS_OTHER = {
  XML: (start: string) => !start.startsWith('<?xml'),
  Markdown: (start: string, path: string) =>
    start.startsWith('{') || /\.(?:jsonl?|[tc]sv|ya?ml|xml|html|gz)$/i.test(path),
} as const;

/** Throws `E_USAGE` if two outputs are one file, or one is an input of the command. */
export function checkOutputFlags(outputs: Outputs, inputs: readonly string[]): void {
  const before: [flag: string, path: string][] = [];
  for (const [flag, path] of Object.entries(outputs)) {
    if (path === undefined) continue;
    if (inputs.some((input) => input !== '-' && isSameFile(input, path))) {
      throw usage(flag, path, 'is the input of this command; choose another file');
    }
    const other = before.find(([, taken]) => isSameFile(taken, path));
    if (other !== undefined) throw usage(flag, path, `is also the file of --${other[0]}; choose two files`);
    before.push([flag, path]);
  }
}

/** Throws `E_USAGE` if the file of a flag exists with other content than `kind`. */
export function checkHolds(kind: keyof typeof IS_OTHER, flag: string, path: string): void {
  const start = startOf(path);
  if (start !== '' && IS_OTHER[kind](start, path))
    throw usage(flag, path, `exists and is not ${kind}; choose another name or remove the file`);
}

function isSameFile(a: string, b: string): boolean {
  if (resolve(a) === resolve(b)) return true;
  const [one, other] = [a, b].map(statOf);
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Undefined on a system error, which reading or writing the file will report. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** First characters of a regular file; empty if it is missing or empty. */
function startOf(path: string): string {
  if (!statOf(path)?.isFile()) return '';
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(5);
    return bytes.toString('latin1', 0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

function usage(flag: string, path: string, problem: string): EscapementError {
  return usageError(`--${flag} ${path}: ${problem}`);
}
