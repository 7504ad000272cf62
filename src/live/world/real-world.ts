import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { unixMs } from '../../base/clock/wall-clock.js';
import { REAL_DISK } from '../../base/files/real-disk.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import { REAL_NETWORK } from '../wire/real-network.js';
import { REAL_THREADS } from './real-threads.js';
import type { World } from './world.js';

/** This process and its machine. */
export const REAL_WORLD: World = {
  time: REAL_TIME,
  disk: REAL_DISK,
  network: REAL_NETWORK,
  threads: REAL_THREADS,
  crowding: () => Math.max(1, loadavg()[0] / availableParallelism()),
  newId: randomUUID,
  unixMs,
};
