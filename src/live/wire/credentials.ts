import { createHash, timingSafeEqual, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import { EscapementError } from '../../base/errors.js';

/** Certificate chain and private key of a server, PEM. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Authority that a client checks the server's certificate against, PEM; absent: the system's. */
export interface ClientTls {
  readonly ca?: Buffer;
}

/** Throws `E_TLS` if certificate and key are unusable; `what` names their owner. */
export function checkIdentity(tls: ServerTls, what: string): void {
  checkPem(() => createSecureContext(tls), what);
}

/** Throws `E_TLS` if the authority of workers, or of controllers, is unusable. */
export function clientCredentials(
  tls: ClientTls | undefined,
  peer: 'worker' | 'controller' = 'worker',
): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  const { ca = null } = tls;
  if (ca !== null) checkAuthority(ca, `the certificate authority for ${peer}s`);
  return ChannelCredentials.createSsl(ca);
}

/** Throws `E_TLS` if the authority is unusable; `what` names it. */
export function checkAuthority(ca: Buffer, what: string): void {
  checkPem(() => new X509Certificate(ca), what);
}

/** Compares in constant time. */
export function tokensMatch(given: string, wanted: string): boolean {
  return timingSafeEqual(sha256(given), sha256(wanted));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function checkPem(use: () => unknown, what: string): void {
  try {
    use();
  } catch (error) {
    throw new EscapementError('E_TLS', `${what} cannot be used: ${(error as Error).message}; give PEM files`);
  }
}
