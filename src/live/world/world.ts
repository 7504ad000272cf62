import type { Disk } from '../../base/world/disk.js';
import type { Time } from '../../base/world/time.js';
import type { Network } from '../wire/network.js';
import type { Threads } from './threads.js';

/**
 * All that live mode takes from the process and the machine that it runs on, but for clients and models. The real one is
 * `REAL_WORLD`; tests run the same code in a simulated one, in which everything fails that can.
 */
export interface World {
  readonly time: Time;
  readonly disk: Disk;
  readonly network: Network;
  readonly threads: Threads;
  /** A name that nothing else has: letters, digits and dashes. */
  newId(): string;
  /** What time it is, ms since 1970: for people, and for names of files. */
  unixMs(): number;
}
