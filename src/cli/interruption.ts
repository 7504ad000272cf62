import { writeErr } from '../text/terminal.js';
import { EXIT_INTERRUPTED } from './exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** A terminal that closes ends a server as SIGTERM does: Node would end at once, also under `nohup`. */
const STOP_SIGNALS = [...SIGNALS, 'SIGHUP'] as const;
/** Shells and process managers often send the first signal to the whole group and once more to the process. */
const IMPATIENT_MS = 1000;

/**
 * Does work that Ctrl-C or SIGTERM ends: stderr then says what `kept` returns, and the process exits with 130 after
 * `release`, which may not take long, or at once with the next signal.
 */
export async function interruptible<T>(
  work: () => Promise<T>,
  kept: () => string,
  release: () => Promise<void> | void = () => {},
): Promise<T> {
  const interrupted = async () => {
    writeErr(`escapement: interrupted: ${kept()}\n`);
    const released = release();
    if (released !== undefined) await released.catch(() => {});
    process.exit(EXIT_INTERRUPTED);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}

/** Resolves with the first signal: Ctrl-C's, SIGTERM or SIGHUP. Another one a second later ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | null = null;
    const stop = (signal: NodeJS.Signals) => {
      first ??= performance.now();
      resolve(signal);
      if (performance.now() - first > IMPATIENT_MS) process.exit(EXIT_INTERRUPTED);
    };
    for (const signal of STOP_SIGNALS) process.on(signal, stop);
  });
}
