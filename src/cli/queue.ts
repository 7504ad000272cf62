import { printable } from '../base/printable.js';
import type { QueueAddress } from '../run/queue/address.js';
import type { CellRunner } from '../run/sweep/pool.js';
import { writeErr } from '../text/terminal.js';
import { plural } from '../text/words.js';
import { readAuthority } from './token.js';
import { packageVersion } from './version.js';

export interface QueueArgs {
  readonly queue: string | undefined;
  readonly 'queue-ca': string | undefined;
  readonly 'queue-password-file': string | undefined;
}

/** The queue of a command, with its texts. */
interface OpenedQueue {
  readonly runner: CellRunner;
  /** Where the cells run. */
  readonly place: string;
  /** Workers that finished cells, for a progress line. */
  note(): string;
  /** Work done by each worker, as lines for the end. */
  report(): string;
  close(): Promise<void>;
}

/** Largest number of workers named in a progress line; more are counted. */
const MOST_NAMED = 3;

/** Connects to the server of `--queue`; null if not given. Throws `E_QUEUE`. */
export async function openQueue(args: QueueArgs): Promise<OpenedQueue | null> {
  const { queue } = args;
  if (queue === undefined) return null;
  const address = await addressOf({ ...args, queue });
  // Loaded late: the libraries take a third of a second.
  const { openQueueRunner } = await import('../run/queue/queue-runner.js');
  const runner = await openQueueRunner(address, { version: packageVersion(), say });
  return {
    ...{ runner, place: address.shown, close: () => runner.close() },
    note() {
      const { workers } = runner;
      if (workers.length > MOST_NAMED) return `, ${plural(workers.length, 'worker')}`;
      return workers.map(({ name, cells }) => `, ${name} ${cells}`).join('');
    },
    report: () =>
      runner.workers
        .map(({ name, threads, cells, ranMs }) => {
          const took = `${(ranMs / 1000).toFixed(1)} s of work`;
          return `${name} finished ${plural(cells, 'run')} on ${plural(threads, 'thread')}: ${took}\n`;
        })
        .join(''),
  };
}

/** Server named by the flags. Throws `E_USAGE`, `E_TLS` and `E_FILE_MISSING`. */
export async function addressOf(args: QueueArgs & { readonly queue: string }): Promise<QueueAddress> {
  const { queueAddress } = await import('../run/queue/address.js');
  const { 'queue-ca': authority } = args;
  return queueAddress(args.queue, {
    ca: authority === undefined ? undefined : await readAuthority(authority, 'queue-ca'),
    passwordFile: args['queue-password-file'],
  });
}

/** Prints a message about the queue that is not progress. */
export function say(what: string): void {
  writeErr(`escapement: ${printable(what)}\n`);
}
