import { readFile } from 'node:fs/promises';
import { EscapementError } from '../base/errors.js';
import { fileProblem } from '../base/files/disk-files.js';

/** The token in the file of `--token-file`; null: none was given. */
export async function tokenOf({
  'token-file': path,
}: {
  readonly 'token-file': string | undefined;
}): Promise<string | null> {
  if (path === undefined) return null;
  const token = (await read(path, 'token-file')).toString('utf8').trim();
  if (token === '') throw new EscapementError('E_USAGE', `--token-file ${path}: the file is empty`);
  return token;
}

/** The file that a flag names. */
export function read(path: string, flag: string): Promise<Buffer> {
  return readFile(path).catch((error) => Promise.reject(fileProblem(error, path, { flag: `--${flag}` })));
}
