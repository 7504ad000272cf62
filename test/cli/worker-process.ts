import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT } from './run-cli.js';
import { until } from './server-process.js';

const DEVICE = `simulated:${join(ROOT, 'experiments/profiles/resnet50_v2.v100.json')}`;
/** A command that runs until it is stopped. */
export const WORKER = `worker --port 0 --metrics-port off --device ${DEVICE}`;

/** Resolves when a worker is ready; gives what it has logged so far. */
export async function readyLog(child: ChildProcess): Promise<() => string> {
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  onTestFinished(() => {
    const pid = pidIn(log);
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  await until(() => log.includes('"msg":"ready"'));
  return () => log;
}

/** The process that wrote a log. */
export function pidIn(log: string): number {
  return Number(/"pid":(\d+)/.exec(log)?.[1]);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
