import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EscapementError } from '../base/errors.js';
import { checkAppendable, checkWritable } from '../base/files/output-file.js';
import type { ciFlags } from './common-options.js';
import { usageError, type ValuesOf } from './options.js';

/** Names of files that hold something other than Markdown. */
const NOT_MARKDOWN = /\.(?:jsonl?|[tc]sv|ya?ml|xml|html|gz)$/i;

/** Throws errors of `--junit` and `--markdown` of a command on `file`, before there is anything to lose. */
export function checkCiFiles({
  file,
  junit,
  markdown,
}: ValuesOf<ReturnType<typeof ciFlags>> & { readonly file: string }): void {
  checkOutputFlags({ junit, markdown }, [file]);
  const other = (kind: string) => `exists and is not ${kind}; choose another name or remove the file`;
  if (junit !== undefined) {
    if (!'<?xml'.startsWith(startOf(junit))) throw usage('junit', junit, other('XML'));
    checkWritable(junit);
  }
  if (markdown !== undefined) {
    const start = startOf(markdown);
    if (start.startsWith('{') || (start !== '' && NOT_MARKDOWN.test(markdown)))
      throw usage('markdown', markdown, other('Markdown'));
    checkAppendable(markdown);
  }
}

/** Throws `E_USAGE` if two outputs, by flag, are one file, or one is an input of the command. */
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

/** First characters of a regular file; empty if it is missing or empty. */
function startOf(path: string): string {
  if (!existsSync(path) || !statSync(path).isFile()) return '';
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
