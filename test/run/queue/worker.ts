import { ServerProcess, until } from '../../cli/server-process.js';
import type { RedisServer } from './redis-server.js';

/** A worker of one thread in a process of its own, at the latest until the test ends; it is connected. */
export async function readyWorker(server: RedisServer, ...flags: string[]): Promise<ServerProcess> {
  const queue = flags.includes('--queue') ? [] : ['--queue', server.url];
  const worker = new ServerProcess(['sweep-worker', '--threads', '1', ...queue, ...flags]);
  await until(() => worker.stderr.includes('runs cells of') || worker.hasEnded);
  if (worker.hasEnded) throw new Error(`the worker ended: ${worker.stderr}`);
  return worker;
}
