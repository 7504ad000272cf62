import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import type { CertificateGauges, CertificateUse } from '../live/observe/telemetry/certificates.js';
import { checkIdentity, type ServerTls } from '../live/wire/credentials.js';
import type { GivenFile } from './options.js';

type Args = Readonly<Record<string, unknown>>;

/** Reports on renewals: the log, and metrics of each certificate. */
interface Reports {
  readonly log: Logger;
  readonly gauges: CertificateGauges;
}

/** Calls `renew` for the certificate and key of a server. */
export function renewIdentity(args: Args, reports: Reports, apply: (tls: ServerTls) => void): void {
  renew('server', ['tls-cert', 'tls-key'], args, reports, ([cert, key]) => {
    const identity = { cert: cert!, key: key! };
    checkIdentity(identity, 'the certificate and key of the server');
    apply(identity);
  });
}

/**
 * Reloads the files of these flags, if given, whenever they change, for later connections. Logs the new certificate, the
 * first in the files, and each problem once. `apply` throws if the files are unusable.
 */
export function renew(
  use: CertificateUse,
  flags: readonly string[],
  args: Args,
  { log, gauges }: Reports,
  apply: (contents: readonly Buffer[]) => void,
): void {
  const files = flags.flatMap((flag) => (args[flag] as GivenFile | undefined) ?? []);
  if (files.length < flags.length) return;
  const shown = flags.map((flag) => `--${flag}`).join(' and ');
  let used = files[0]!.bytes;
  const uses = (what: string) => {
    gauges.uses(use, used);
    log.info(facts(used), `${shown}: ${what}`);
  };
  gauges.uses(use, used);
  new WatchedFiles({
    paths: files.map(({ path }) => path),
    contents: files.map(({ bytes }) => bytes),
    use: (now) => {
      apply(now);
      used = now[0]!;
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
