import type { MessagePort, Worker } from 'node:worker_threads';

/** A thread of this process, as the one that started it sees it: node:worker_threads' Worker, as far as it is used. */
export type ThreadHandle = Pick<Worker, 'postMessage' | 'terminate' | 'unref'> & {
  on<Message>(event: 'message', heard: (message: Message) => void): unknown;
  on(event: 'error', heard: (error: Error) => void): unknown;
  on(event: 'exit', heard: (status: number) => void): unknown;
};

/** Starts threads: the real one makes a Worker of node:worker_threads. */
export interface Threads {
  /** `entry`: the compiled file, next to the one that starts it. */
  start(entry: URL, options: ThreadOptions): ThreadHandle;
  /** A call of the device does not return in this thread: the end of the process does not wait for it. */
  abandon(thread: ThreadHandle): void;
}

/** As for a Worker of node:worker_threads. */
type ThreadOptions = Pick<
  NonNullable<ConstructorParameters<typeof Worker>[1]>,
  'name' | 'workerData' | 'transferList' | 'resourceLimits'
>;

/** The way from a thread to the one that started it: node:worker_threads' parentPort, as far as it is used. */
export type ThreadPort = Pick<MessagePort, 'postMessage'> & {
  on<Message>(event: 'message', heard: (message: Message) => void): unknown;
};
