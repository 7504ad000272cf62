import type { RedisOptions } from 'ioredis';
import { EscapementError } from '../../base/errors.js';

/** Options of a client; replies keep the form that they have in Redis. */
export type ServerOptions = Omit<RedisOptions, 'replyMapping'>;

/** A server that holds queues. */
export interface QueueAddress {
  /** Its name in messages: without user and password. */
  readonly shown: string;
  readonly options: ServerOptions;
}

interface Secrets {
  /** Password in place of one in the address. */
  readonly password?: string;
  /** Authority that signed the server's certificate; absent: those of the system. */
  readonly ca?: Buffer;
}

const DEFAULT_PORT = 6379;

/** Parses `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`, or `rediss://` for TLS. Throws `E_USAGE`. */
export function queueAddress(text: string, { ca, ...own }: Secrets = {}): QueueAddress {
  const url = parsed(text);
  const { protocol, username, pathname } = url;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const database = /^\/?(\d*)$/.exec(pathname)?.[1];
  if (host === '' || database === undefined || url.search !== '' || url.hash !== '') throw malformed();
  const isSecure = protocol === 'rediss:';
  if (ca !== undefined && !isSecure) {
    throw new EscapementError('E_USAGE', '--queue-ca applies to rediss://, and --queue is redis://');
  }
  const password = own.password ?? decoded(url.password);
  const db = database === '' ? 0 : Number(database);
  return {
    shown: `${protocol}//${url.hostname}:${port}${db === 0 ? '' : `/${db}`}`,
    options: {
      ...{ host, port, db },
      ...(username === '' ? {} : { username: decoded(username) }),
      ...(password === '' ? {} : { password }),
      ...(isSecure ? { tls: ca === undefined ? {} : { ca } } : {}),
    },
  };
}

function parsed(text: string): URL {
  try {
    const url = new URL(text);
    if (['redis:', 'rediss:'].includes(url.protocol)) return url;
  } catch {
    // Reported below, like any other malformed address.
  }
  throw malformed();
}

/** Does not show the text: it may contain a password. */
function malformed(): EscapementError {
  const what =
    'write redis://HOST:PORT, or rediss://HOST:PORT for TLS, with USER:PASSWORD@ before the host and /DATABASE after the port if need be';
  return new EscapementError('E_USAGE', `--queue: ${what}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}
