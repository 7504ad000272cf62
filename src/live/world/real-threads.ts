import { Worker } from 'node:worker_threads';
import type { ThreadHandle, Threads } from './threads.js';

/** Threads of this process. */
export const REAL_THREADS: Threads = {
  start: (entry, options) => new Worker(entry, options),
  abandon,
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
