// Loaded into a process before everything else, and into each of its threads: a message to the process makes each of them
// whose event loop turns warn as Node does, once.
import { getEnvironmentData, isMainThread, setEnvironmentData, threadId } from 'node:worker_threads';

const KEY = 'warn';
const LOOK_MS = 20;
const shared = isMainThread ? new SharedArrayBuffer(4) : getEnvironmentData(KEY);
const asked = new Int32Array(shared);
if (isMainThread) {
  setEnvironmentData(KEY, shared);
  process.on('message', () => Atomics.store(asked, 0, 1));
  process.channel?.unref();
}
const look = setInterval(() => {
  if (Atomics.load(asked, 0) === 0) return;
  clearInterval(look);
  process.emitWarning(`thread ${threadId} warns`, 'MadeUpWarning');
}, LOOK_MS).unref();
