import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { Worker } from 'node:worker_threads';
import { unixMs } from '../../base/clock/wall-clock.js';
import { REAL_DISK } from '../../base/files/real-disk.js';
import { REAL_TIME } from '../../base/world/real-time.js';
import { REAL_NETWORK } from '../wire/real-network.js';
import type { ThreadHandle, Threads } from './threads.js';
import type { World } from './world.js';

/** Threads of this process. */
const REAL_THREADS: Threads = {
  start: (entry, options) => new Worker(entry, options),
  abandon,
};

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

const WARNING =
  'a call of a device does not return: if that is still so when this process ends, it kills itself (exit status 137)';

/** Abandoned threads that have not ended. */
const abandoned = new Set<ThreadHandle>();

function abandon(thread: ThreadHandle): void {
  if (abandoned.size === 0) {
    process.once('exit', endAnyway);
    process.emitWarning(WARNING);
  }
  abandoned.add(thread);
  thread.on('exit', () => abandoned.delete(thread));
  thread.unref();
}

/** Ends the process although Node waits for every thread, even one in a call of the device, which may take for ever. */
function endAnyway(): void {
  if (abandoned.size > 0) process.kill(process.pid, 'SIGKILL');
}
