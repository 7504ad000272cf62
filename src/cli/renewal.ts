import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import { checkTls } from '../live/frontend/frontend.js';
import type { CertificateGauges, CertificateUse } from '../live/observe/telemetry/certificates.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ValuesOf } from './options.js';
import type { listenFlags } from './server-options.js';

/** Reports on renewals: the log, and metrics of each certificate. */
interface Reports {
  readonly log: Logger;
  readonly gauges: CertificateGauges;
}

/** Reloads certificate and key whenever their files change; logs the new certificate, and each problem once. */
export function renewIdentity(
  { 'tls-cert': cert, 'tls-key': key }: Pick<ValuesOf<typeof listenFlags>, 'tls-cert' | 'tls-key'>,
  tls: ServerTls | null,
  reports: Reports,
  renew: (tls: ServerTls) => void,
): void {
  if (tls === null || cert === undefined || key === undefined) return;
  const contents = { cert: tls.cert, key: tls.key };
  renewFiles('--tls-cert and --tls-key', 'server', { cert, key }, contents, 'cert', reports, (identity) => {
    checkTls(identity);
    renew(identity);
  });
}

/** Does the same for an authority's file given by a flag. `renew` throws if it is unusable. */
export function renewAuthority(
  whose: 'worker' | 'controller',
  path: string | undefined,
  used: { readonly ca: Buffer } | undefined,
  reports: Reports,
  renew: (ca: Buffer) => void,
): void {
  if (path === undefined || used === undefined) return;
  const use = `${whose}_authority` as const;
  renewFiles(`--${whose}-ca`, use, { ca: path }, { ca: used.ca }, 'ca', reports, ({ ca }) => renew(ca));
}

function renewFiles<Name extends string>(
  flags: string,
  use: CertificateUse,
  paths: Readonly<Record<Name, string>>,
  contents: Readonly<Record<Name, Buffer>>,
  certificate: NoInfer<Name>,
  { log, gauges }: Reports,
  renew: (contents: Readonly<Record<Name, Buffer>>) => void,
): void {
  let used = contents[certificate];
  const uses = (what: string) => {
    gauges.uses(use, used);
    log.info(facts(used), `${flags}: ${what}`);
  };
  gauges.uses(use, used);
  new WatchedFiles({
    paths,
    contents,
    use: (now) => {
      renew(now);
      used = now[certificate];
      uses('the files have changed; new connections get what they hold now');
    },
    restored: () => uses('the files are well again and hold what is in use'),
    failed: ({ message }) => {
      gauges.failed(use);
      log.error(
        `${flags}: the files have changed and cannot be used, so the old ones stay in use: ${message}`,
      );
    },
  });
}

/** Subject and expiry of a certificate; of the first if there are several in a file. */
function facts(pem: Buffer): { subject?: string; expires?: string } {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    return { subject: subject.replaceAll('\n', ', '), expires: validTo };
  } catch {
    // TLS accepts authorities that this parser rejects.
    return {};
  }
}
