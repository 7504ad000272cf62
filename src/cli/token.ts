import type { accessFlags } from './common-options.js';
import type { GivenFile, ValuesOf } from './options.js';
import type { listenFlags } from './server-options.js';

/** Certificate and key of `--tls-cert` and `--tls-key`; null if not given. */
export function tlsOf({
  'tls-cert': cert,
  'tls-key': key,
}: Pick<ValuesOf<typeof listenFlags>, 'tls-cert' | 'tls-key'>): { cert: Buffer; key: Buffer } | null {
  return cert === undefined || key === undefined ? null : { cert: cert.bytes, key: key.bytes };
}

/** Token and trust of a client command. Throws `E_TLS` for an unusable authority. */
export async function accessOf({ 'token-file': token, ca, insecure }: ValuesOf<typeof accessFlags>) {
  return {
    ...(token === undefined ? {} : { token: token.token }),
    ...(ca === undefined ? {} : { ca: await authorityIn(ca, 'ca') }),
    insecure,
  };
}

/** Authority in the file of a flag. Throws `E_TLS`. */
export async function authorityIn({ path, bytes }: GivenFile, flag: string): Promise<Buffer> {
  const { checkAuthority } = await import('../live/wire/credentials.js');
  checkAuthority(bytes, `--${flag} ${path}`);
  return bytes;
}
