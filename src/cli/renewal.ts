import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import { checkTls } from '../live/frontend/frontend.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ValuesOf } from './flag.js';
import type { listenFlags } from './usage/server.js';

/** Reads certificate and key again whenever their files change; logs what is used then, and once what cannot be. */
export function renewIdentity(
  args: Pick<ValuesOf<typeof listenFlags>, 'tls-cert' | 'tls-key'>,
  tls: ServerTls | null,
  log: Logger,
  renew: (tls: ServerTls) => void,
): void {
  const { 'tls-cert': cert, 'tls-key': key } = args;
  if (tls === null || cert === undefined || key === undefined) return;
  const flags = '--tls-cert and --tls-key';
  renewFiles(flags, { cert, key }, { cert: tls.cert, key: tls.key }, 'cert', log, (identity) => {
    checkTls(identity);
    renew(identity);
  });
}

/** The same for the authority in the file of a flag. `renew` throws what cannot be used. */
export function renewAuthority(
  flag: '--worker-ca' | '--controller-ca',
  path: string,
  ca: Buffer,
  log: Logger,
  renew: (ca: Buffer) => void,
): void {
  renewFiles(flag, { ca: path }, { ca }, 'ca', log, (contents) => renew(contents.ca));
}

function renewFiles<Name extends string>(
  flags: string,
  paths: Readonly<Record<Name, string>>,
  contents: Readonly<Record<Name, Buffer>>,
  certificate: NoInfer<Name>,
  log: Logger,
  renew: (contents: Readonly<Record<Name, Buffer>>) => void,
): void {
  let used = contents;
  new WatchedFiles({
    paths,
    contents,
    use: (now) => {
      renew(now);
      used = now;
      log.info(
        facts(used[certificate]),
        `${flags}: the files have changed; new connections get what they hold now`,
      );
    },
    restored: () =>
      log.info(facts(used[certificate]), `${flags}: the files are well again and hold what is in use`),
    failed: ({ message }) =>
      log.error(
        `${flags}: the files have changed and cannot be used, so the old ones stay in use: ${message}`,
      ),
  });
}

/** Whose certificate it is and when it expires; of several in a file, the first. */
function facts(pem: Buffer): { subject?: string; expires?: string } {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    return { subject: subject.replaceAll('\n', ', '), expires: validTo };
  } catch {
    // An authority's file may hold what TLS takes and this does not.
    return {};
  }
}
