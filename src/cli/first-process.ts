import { EXIT_INTERRUPTED } from './exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Lets signals end a command that is the first process of its container, as they end any other process: the kernel gives that one
 * only the signals that it handles, so that stopping the container would take until it is killed. Commands that handle a signal
 * themselves end in their own way. A simulation in this thread is finished first.
 */
export function endBySignals(pid: number): void {
  if (pid !== 1) return;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(EXIT_INTERRUPTED);
    });
  }
}
