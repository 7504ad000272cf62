import type { SecureContextOptions } from 'node:tls';
import { checkAuthority } from '../live/wire/credentials.js';
import { read } from './token.js';

/** What a client checks the certificate of a TLS server against: `--ca` and `--insecure`. Throws `E_TLS`. */
export async function trustOf({
  ca: path,
  insecure,
}: {
  readonly ca: string | undefined;
  readonly insecure: boolean;
}): Promise<Pick<SecureContextOptions, 'ca'> & { readonly rejectUnauthorized: boolean }> {
  if (path === undefined) return { rejectUnauthorized: !insecure };
  const ca = await read(path, 'ca');
  checkAuthority(ca, `--ca ${path}`);
  return { ca, rejectUnauthorized: !insecure };
}
