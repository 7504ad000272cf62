import { BroadcastChannel, getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** A warning of Node in a thread: too many listeners, an experimental or outdated feature. */
interface NodeWarning {
  readonly name: string;
  readonly message: string;
  /** Name of the thread. */
  readonly thread: string;
}

/** Channel of this process, and whether a listener exists. */
const CHANNEL = 'escapement-warnings';

/** Listener until the next call. */
let listening: { end(): void } | null = null;

/**
 * Redirects Node's warnings of this thread and of those started later to `take` instead of stderr. Called in the main
 * thread. Does not keep the process alive.
 */
export function takeWarnings(take: (warning: NodeWarning) => void): void {
  listening?.end();
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (event) => take((event as { readonly data: NodeWarning }).data);
  (channel as BroadcastChannel & { unref(): void }).unref();
  setEnvironmentData(CHANNEL, true);
  const own = divert((warning) => take({ ...warning, thread: 'main' }));
  listening = {
    end: () => {
      channel.close();
      process.off('warning', own);
    },
  };
}

/**
 * Called in a thread, first of all: passes its warnings to `takeWarnings`, if that was called. A thread without
 * warnings has no channel: it would have to read what the others send.
 */
export function passOnWarnings(thread: string): void {
  if (getEnvironmentData(CHANNEL) !== true) return;
  divert((warning) => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage({ ...warning, thread } satisfies NodeWarning);
    channel.close();
  });
}

/** Replaces Node's own listener, which writes to stderr. */
function divert(take: (warning: Omit<NodeWarning, 'thread'>) => void) {
  const listener = ({ name, message }: Error) => take({ name, message });
  process.removeAllListeners('warning');
  process.on('warning', listener);
  return listener;
}
