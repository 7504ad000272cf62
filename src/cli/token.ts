import { readInput } from '../base/files/disk-files.js';
import type { accessFlags } from './common-options.js';
import { usageError, type ValuesOf } from './options.js';

/** Characters that every header and every gRPC metadata value can carry. */
const TOKEN = /^[\x20-\x7e]+$/;

/** Token in the file of `--token-file`; null if not given. */
export async function tokenOf(args: { readonly 'token-file': string | undefined }): Promise<string | null> {
  const { 'token-file': path } = args;
  return path === undefined ? null : readToken(path, 'token-file');
}

/** Token in the file named by a flag, without surrounding white space. Throws `E_USAGE`; no error quotes it. */
export async function readToken(path: string, flag: string): Promise<string> {
  const token = await readSecret(path, flag);
  if (TOKEN.test(token)) return token;
  throw usageError(`--${flag} ${path}: the token must be one line of printable ASCII`);
}

/** Secret in the file named by a flag, without surrounding white space. Throws `E_USAGE` if it is empty. */
export async function readSecret(path: string, flag: string): Promise<string> {
  const secret = (await read(path, flag)).toString('utf8').trim();
  if (secret !== '') return secret;
  throw usageError(`--${flag} ${path}: the file is empty`);
}

/** Content of the file named by a flag. */
export function read(path: string, flag: string): Promise<Buffer> {
  return readInput(path, { flag: `--${flag}` });
}

/** Certificate and key of `--tls-cert` and `--tls-key`; null if not given. Throws `E_USAGE`. */
export async function tlsOf(args: {
  readonly 'tls-cert': string | undefined;
  readonly 'tls-key': string | undefined;
}): Promise<{ cert: Buffer; key: Buffer } | null> {
  const { 'tls-cert': cert, 'tls-key': key } = args;
  if (cert === undefined || key === undefined) return null;
  return { cert: await read(cert, 'tls-cert'), key: await read(key, 'tls-key') };
}

/** Token and trust of a client command. Throws `E_USAGE`, and `E_TLS` for an unusable authority. */
export async function accessOf(args: ValuesOf<typeof accessFlags>) {
  const { ca, insecure } = args;
  const token = await tokenOf(args);
  return {
    ...(token === null ? {} : { token }),
    ...(ca === undefined ? {} : { ca: await readAuthority(ca, 'ca') }),
    insecure,
  };
}

/** Authority in the file named by a flag. Throws `E_TLS`. */
export async function readAuthority(path: string, flag: string): Promise<Buffer> {
  const { checkAuthority } = await import('../live/wire/credentials.js');
  const ca = await read(path, flag);
  checkAuthority(ca, `--${flag} ${path}`);
  return ca;
}
