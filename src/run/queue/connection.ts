import { Redis, type RedisOptions } from 'ioredis';
import { EscapementError, usageError } from '../../base/errors.js';

/** Options of a client; replies keep the form that they have in Redis. */
type ServerOptions = Omit<RedisOptions, 'replyMapping'>;

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
    throw usageError('--queue-ca applies to rediss://, and --queue is redis://');
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
  return usageError(`--queue: ${what}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

/** Timeout of the first connection. */
const FIRST_MS = 5000;
const MOST_WAIT_MS = 2000;

/**
 * Connects to a server of queues. Commands sent while it is away wait for its return, without limit; `say` is called
 * once when it goes, and once when it is back. Throws `E_QUEUE` within seconds if the first connection fails.
 */
export async function connect(address: QueueAddress, say: (what: string) => void): Promise<Redis> {
  const { shown, options } = address;
  let isUp = false;
  let isAway = false;
  let last = '';
  const all: ServerOptions = {
    ...options,
    lazyConnect: true,
    maxRetriesPerRequest: null,
    connectTimeout: FIRST_MS,
    retryStrategy: (times) => (isUp ? Math.min(100 * times, MOST_WAIT_MS) : null),
  };
  const client = new Redis(all);
  client.on('error', (error: Error) => {
    last = reasonOf(error);
  });
  client.on('ready', () => {
    if (isAway) say(`${shown} is back`);
    isAway = false;
  });
  client.on('reconnecting', () => {
    if (!isAway) say(`${shown} is away${last === '' ? '' : ` (${last})`}; trying again`);
    isAway = true;
    last = '';
  });
  try {
    await within(
      FIRST_MS,
      client.connect().then(() => client.ping()),
    );
  } catch (error) {
    client.disconnect();
    const why = last === '' ? reasonOf(error as Error) : last;
    throw new EscapementError('E_QUEUE', `${shown} cannot be used: ${why}`);
  }
  isUp = true;
  return client;
}

/** Settles like `work`, but fails after `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The failure in one line, with advice. */
function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  const [line = ''] = message.split('\n');
  if (/WRONGPASS|NOAUTH|AUTH/.test(line)) return `it refuses the user or password (${line})`;
  if (code === 'ECONNREFUSED')
    return 'nothing listens there (ECONNREFUSED): start a Redis server, or check --queue';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `its host is not known (${code}): check --queue`;
  if (/certificate|self.signed|CERT|altname/i.test(`${line} ${code}`)) {
    return `its certificate is not trusted (${line}): give its authority with --queue-ca`;
  }
  return line;
}
