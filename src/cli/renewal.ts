import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import { checkTls } from '../live/frontend/frontend.js';
import type { CertificateGauges, CertificateUse } from '../live/observe/telemetry/gauges.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ValuesOf } from './options.js';
import type { listenFlags } from './server-options.js';

const AUTHORITIES = { '--worker-ca': 'worker_authority', '--controller-ca': 'controller_authority' } as const;

/** Reloads certificate and key whenever their files change; logs the new certificate, and each problem once. */
export function renewIdentity(
  { 'tls-cert': cert, 'tls-key': key }: Pick<ValuesOf<typeof listenFlags>, 'tls-cert' | 'tls-key'>,
  tls: ServerTls | null,
  log: Logger,
  gauges: CertificateGauges,
  renew: (tls: ServerTls) => void,
): void {
  if (tls === null || cert === undefined || key === undefined) return;
  const [flags, shown] = ['--tls-cert and --tls-key', shownAs(gauges, 'server')];
  renewFiles(flags, { cert, key }, { cert: tls.cert, key: tls.key }, 'cert', { log, shown }, (identity) => {
    checkTls(identity);
    renew(identity);
  });
}

/** Does the same for an authority's file given by a flag. `renew` throws if it is unusable. */
export function renewAuthority(
  flag: keyof typeof AUTHORITIES,
  path: string | undefined,
  used: { readonly ca: Buffer } | undefined,
  log: Logger,
  gauges: CertificateGauges,
  renew: (ca: Buffer) => void,
): void {
  if (path === undefined || used === undefined) return;
  const shown = shownAs(gauges, AUTHORITIES[flag]);
  renewFiles(flag, { ca: path }, { ca: used.ca }, 'ca', { log, shown }, ({ ca }) => renew(ca));
}

/** Metrics of one certificate. */
interface Shown {
  uses(pem: Buffer): void;
  failed(): void;
}

function shownAs(gauges: CertificateGauges, use: CertificateUse): Shown {
  return { uses: (pem) => gauges.uses(use, pem), failed: () => gauges.failed(use) };
}

function renewFiles<Name extends string>(
  flags: string,
  paths: Readonly<Record<Name, string>>,
  contents: Readonly<Record<Name, Buffer>>,
  certificate: NoInfer<Name>,
  { log, shown }: { readonly log: Logger; readonly shown: Shown },
  renew: (contents: Readonly<Record<Name, Buffer>>) => void,
): void {
  let used = contents[certificate];
  const uses = (what: string) => {
    shown.uses(used);
    log.info(facts(used), `${flags}: ${what}`);
  };
  shown.uses(used);
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
      shown.failed();
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
