import type { Worker } from 'node:worker_threads';

/** A thread of this process, as seen by the one that started it: the subset of node:worker_threads' Worker in use. */
export type ThreadHandle = Pick<Worker, 'postMessage' | 'terminate' | 'unref'> & {
  on<Message>(event: 'message', heard: (message: Message) => void): unknown;
  on(event: 'error', heard: (error: Error) => void): unknown;
  on(event: 'exit', heard: (status: number) => void): unknown;
};

/** Calls `ended` with the reason, for people, when the thread has ended. */
export function whenEnded(thread: Pick<ThreadHandle, 'on'>, ended: (why: string) => void): void {
  let reason = '';
  thread.on('error', (error) => {
    reason = error.message;
  });
  thread.on('exit', (status) => ended(reason || `it ended with status ${status}`));
}

/** Starts threads: the real one creates a Worker of node:worker_threads. */
export interface Threads {
  /** `entry`: the compiled file, next to the one that starts it. */
  start(entry: URL, options: ThreadOptions): ThreadHandle;
  /** Lets the process end without this thread, in which a call of the device does not return. */
  abandon(thread: ThreadHandle): void;
}

/** As for a Worker of node:worker_threads. */
type ThreadOptions = Pick<
  NonNullable<ConstructorParameters<typeof Worker>[1]>,
  'name' | 'workerData' | 'transferList' | 'resourceLimits'
>;
