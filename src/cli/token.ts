import { EscapementError } from '../base/errors.js';
import { readInput } from '../base/files/disk-files.js';

/** What every header and every gRPC metadata value can carry. */
const TOKEN = /^[\x20-\x7e]+$/;

/** The token in the file of `--token-file`; null: none was given. */
export async function tokenOf({
  'token-file': path,
}: {
  readonly 'token-file': string | undefined;
}): Promise<string | null> {
  return path === undefined ? null : readToken(path, 'token-file');
}

/** The token in the file that a flag names, without the white space around it. Throws `E_USAGE`; no error quotes it. */
export async function readToken(path: string, flag: string): Promise<string> {
  const token = (await read(path, flag)).toString('utf8').trim();
  if (token === '') throw new EscapementError('E_USAGE', `--${flag} ${path}: the file is empty`);
  if (TOKEN.test(token)) return token;
  throw new EscapementError('E_USAGE', `--${flag} ${path}: the token must be one line of printable ASCII`);
}

/** The file that a flag names. */
export function read(path: string, flag: string): Promise<Buffer> {
  return readInput(path, { flag: `--${flag}` });
}
