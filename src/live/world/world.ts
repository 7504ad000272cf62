import type { Disk } from '../../base/world/disk.js';
import type { Time } from '../../base/world/time.js';
import type { Network } from '../wire/network.js';
import type { Threads } from './threads.js';

/**
 * Everything that live mode takes from the process and the machine it runs on, except clients and models. The real one
 * is `REAL_WORLD`; tests run the same code in a simulated one, in which everything fails that can.
 */
export interface World {
  readonly time: Time;
  readonly disk: Disk;
  readonly network: Network;
  readonly threads: Threads;
  /** Runnable threads per core of the machine, at least 1: a thread gets no more than that part of a core. */
  crowding(): number;
  /** A unique name: letters, digits and dashes. */
  newId(): string;
  /** Wall-clock time, ms since 1970: for people, and for names of files. */
  unixMs(): number;
}
