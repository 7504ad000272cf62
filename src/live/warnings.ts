import { BroadcastChannel, getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** What Node warns of in a thread: too many listeners, an experimental or outdated feature. */
interface NodeWarning {
  readonly name: string;
  readonly message: string;
  /** Which thread. */
  readonly thread: string;
}

/** A channel of this process, and whether somebody listens there. */
const CHANNEL = 'escapement-warnings';

/** Until the next call. */
let listening: { end(): void } | null = null;

/**
 * From now on, Node's warnings of this thread and of those that start later go to `take` rather than to stderr. Called in
 * the main thread. Does not keep the process alive.
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
 * Called in a thread, first of all: hands its warnings to `takeWarnings`, if that was called. A thread that warns of
 * nothing has no channel: it would have to read what the others say.
 */
export function passOnWarnings(thread: string): void {
  if (getEnvironmentData(CHANNEL) !== true) return;
  divert((warning) => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage({ ...warning, thread } satisfies NodeWarning);
    channel.close();
  });
}

/** Node's own listener, which writes to stderr, goes. */
function divert(take: (warning: Omit<NodeWarning, 'thread'>) => void) {
  const listener = ({ name, message }: Error) => take({ name, message });
  process.removeAllListeners('warning');
  process.on('warning', listener);
  return listener;
}
