import type { Logger } from 'pino';
import { WatchedFiles } from '../base/files/watched-files.js';
import { checkTls } from '../live/frontend/frontend.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { ValuesOf } from './flag.js';
import type { listenFlags } from './usage/server.js';

/** Reads certificate and key again whenever their files change; what cannot be used is logged once. */
export function renewIdentity(
  args: Pick<ValuesOf<typeof listenFlags>, 'tls-cert' | 'tls-key'>,
  tls: ServerTls | null,
  log: Logger,
  renew: (tls: ServerTls) => void,
): void {
  const { 'tls-cert': cert, 'tls-key': key } = args;
  if (tls === null || cert === undefined || key === undefined) return;
  renewFiles('--tls-cert and --tls-key', { cert, key }, { cert: tls.cert, key: tls.key }, log, (identity) => {
    checkTls(identity);
    renew(identity);
  });
}

/** The same for the authority of workers. `renew` throws what cannot be used. */
export function renewAuthority(path: string, ca: Buffer, log: Logger, renew: (ca: Buffer) => void): void {
  renewFiles('--worker-ca', { ca: path }, { ca }, log, (contents) => renew(contents.ca));
}

function renewFiles<Name extends string>(
  flags: string,
  paths: Readonly<Record<Name, string>>,
  contents: Readonly<Record<Name, Buffer>>,
  log: Logger,
  renew: (contents: Readonly<Record<Name, Buffer>>) => void,
): void {
  new WatchedFiles({
    paths,
    contents,
    use: (now) => {
      renew(now);
      log.info(`${flags}: the files have changed; new connections get what they hold now`);
    },
    failed: ({ message }) =>
      log.error(
        `${flags}: the files have changed and cannot be used, so the old ones stay in use: ${message}`,
      ),
  });
}
