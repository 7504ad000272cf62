import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import type { CertificateGauges, CertificateUse } from '../live/observe/telemetry/certificates.js';
import { checkIdentity, type ServerTls } from '../live/wire/credentials.js';

type Args = Readonly<Record<string, unknown>>;

/** Reports on renewals: the log, and metrics of each certificate. */
interface Reports {
  readonly log: Logger;
  readonly gauges: CertificateGauges;
}

/** Calls `renew` for the certificate and key of a server. */
export function renewIdentity(
  args: Args,
  tls: ServerTls | null,
  reports: Reports,
  apply: (tls: ServerTls) => void,
): void {
  renew('server', { cert: 'tls-cert', key: 'tls-key' }, args, tls, reports, (identity) => {
    checkIdentity(identity, 'the certificate and key of the server');
    apply(identity);
  });
}

/**
 * Reloads the files named by flags whenever they change, for later connections. Logs the new certificate, the first in
 * the files, and each problem once. `apply` throws if the files are unusable.
 */
export function renew<Name extends string>(
  use: CertificateUse,
  flags: Readonly<Record<Name, string>>,
  args: Args,
  contents: Readonly<Record<NoInfer<Name>, Buffer>> | null | undefined,
  { log, gauges }: Reports,
  apply: (contents: Readonly<Record<NoInfer<Name>, Buffer>>) => void,
): void {
  if (contents === null || contents === undefined) return;
  const names = Object.keys(flags) as Name[];
  const pick = <T>(of: (name: Name) => T) =>
    Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Name, T>;
  const shown = names.map((name) => `--${flags[name]}`).join(' and ');
  let used = contents[names[0]!];
  const uses = (what: string) => {
    gauges.uses(use, used);
    log.info(facts(used), `${shown}: ${what}`);
  };
  gauges.uses(use, used);
  new WatchedFiles({
    paths: pick((name) => String(args[flags[name]])),
    contents: pick((name) => contents[name]),
    use: (now) => {
      apply(now);
      used = now[names[0]!];
      uses('the files have changed; new connections use their new content');
    },
    restored: () => uses('the files are usable again, with the content that is in use'),
    failed: ({ message }) => {
      gauges.failed(use);
      log.error(
        `${shown}: the files have changed and cannot be used, so the old ones stay in use: ${message}`,
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
