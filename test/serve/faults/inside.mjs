// Loaded into a process before everything else, and into each of its threads: makes faults that cannot be made from
// outside. The process gets messages: { crash } ends the threads whose role that is, { hang } keeps one of them busy without
// end, { hangUntil } blocks the main thread until there is a file of that name.
import { existsSync } from 'node:fs';
import { getEnvironmentData, isMainThread, setEnvironmentData, workerData } from 'node:worker_threads';

const KEY = 'faults';
const ROLES = ['frontend', 'executor'];
const LOOK_MS = 20;
const IDLE = new Int32Array(new SharedArrayBuffer(4));

const shared = isMainThread ? new SharedArrayBuffer(16 * ROLES.length) : getEnvironmentData(KEY);
const numbers = new BigInt64Array(shared);

if (isMainThread) {
  // Its child processes are none of those that get messages, and would end without a channel.
  process.env.NODE_OPTIONS = process.env.NODE_OPTIONS?.replace(/ --import=\S*inside\.mjs/, '');
  setEnvironmentData(KEY, shared);
  process.on('message', ({ crash, hang, hangUntil }) => {
    while (hangUntil !== undefined && !existsSync(hangUntil)) Atomics.wait(IDLE, 0, 0, LOOK_MS);
    if (crash !== undefined) Atomics.store(numbers, ROLES.indexOf(crash), 1n);
    if (hang !== undefined) Atomics.store(numbers, ROLES.length + ROLES.indexOf(hang), 1n);
  });
  process.channel?.unref();
}

const role = isMainThread ? '' : roleOf(workerData);
const real = process.hrtime.bigint.bind(process.hrtime);
process.hrtime.bigint = () => {
  // Its thread has no event loop. What is thrown in a call of another thread may be caught there, and ends nothing.
  if (role === 'executor') crashIfAsked();
  return real();
};
// A thread that waits for events reads no clock.
if (role === 'frontend') setInterval(crashIfAsked, LOOK_MS).unref();

function roleOf(data) {
  if (data === null || data === undefined) return '';
  if ('transport' in data) return 'frontend';
  return 'signal' in data && 'gpus' in data ? 'executor' : '';
}

function crashIfAsked() {
  if (role === '') return;
  const place = ROLES.indexOf(role);
  if (Atomics.exchange(numbers, place, 0n) === 1n) throw new Error(`the ${role} thread fails`);
  if (Atomics.exchange(numbers, ROLES.length + place, 0n) === 1n) for (;;);
}
