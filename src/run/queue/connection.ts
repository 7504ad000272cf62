import { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import type { QueueAddress, ServerOptions } from './address.js';

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
