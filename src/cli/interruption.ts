import { writeErr } from '../text/terminal.js';
import { EXIT_INTERRUPTED } from './exit-codes.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** SIGHUP too: a closing terminal stops a server gracefully. Node would end at once, even under `nohup`. */
const STOP_SIGNALS = [...SIGNALS, 'SIGHUP'] as const;
/**
 * A second signal within this time does not count: shells and process managers often send the first one twice, to the
 * group and to the process.
 */
const IMPATIENT_MS = 1000;
/** Interval at which a command under npx checks that npx still runs. */
const CHECK_MS = 250;

/**
 * Runs work that Ctrl-C or SIGTERM ends: prints the result of `kept` to stderr and exits with 130 after `release`,
 * which must be quick, or at once on the next signal.
 */
export async function interruptible<T>(
  work: () => Promise<T>,
  kept: () => string,
  release: () => Promise<void> | void = () => {},
): Promise<T> {
  const interrupted = async () => {
    writeErr(`escapement: interrupted: ${kept()}\n`);
    await Promise.resolve(release()).catch(() => {});
    process.exit(EXIT_INTERRUPTED);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}

/** Resolves with the first signal: SIGINT, SIGTERM or SIGHUP. Another one a second later ends the process at once. */
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

/**
 * Lets signals end a command that is the first process of its container. The kernel delivers only handled signals to
 * it, so without handlers, stopping the container would wait for SIGKILL. Commands with their own handlers keep them. A
 * simulation in this thread finishes first.
 */
export function endBySignals(pid: number): void {
  if (pid !== 1) return;
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(EXIT_INTERRUPTED);
    });
  }
}

/**
 * Ends a command together with its npx. npx passes SIGTERM to a shell in between, which dies without passing it on, so
 * `kill $!` after `npx escapement serve &` would leave the server running. A command started by npx therefore sends
 * itself SIGTERM when that shell is gone. Other commands outlive their parents, as daemons must.
 */
export function endWithNpx(environment: Readonly<Record<string, string | undefined>>): void {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = environment;
  // Children inherit the variables of npx, so they must name this very command.
  if (event !== 'npx' || !/^'?escapement'?$/.test(script)) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, CHECK_MS);
  timer.unref();
}
