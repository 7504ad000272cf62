import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { queueAddress } from '../../src/run/queue/address.js';
import { openQueueRunner } from '../../src/run/queue/queue-runner.js';
import { startSweepWorker } from '../../src/run/queue/sweep-worker.js';
import type { CellRunner } from '../../src/run/sweep/pool.js';
import { type CellOutcome, type CellTask, runCell } from '../../src/run/sweep/run-cell.js';
import { median } from './child.js';

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));
const VERSION = '0.0.0-bench';
/** Each worker runs so many cells at a time, as on a machine with four cores. */
const THREADS = 4;

const CELL: CellTask = {
  text: `models: { kind: zoo, varieties: 3 }
workload: { kind: poisson, rate: 100/s, duration: 1s }
policy: { kind: fifo }
slo: 100ms
`,
  ...{ name: 'bench', file: 'bench.yaml', overrides: [], metrics: [], files: [], key: '' },
};

/** What the queue itself costs: cells that do nothing, on a real server and workers in processes of their own. */
interface QueueLine {
  readonly case: 'queue';
  readonly workers: number;
  readonly runs: number;
  readonly cells: number;
  /** Medians of the runs. */
  readonly cellsPerS: number;
  readonly msPerCell: number;
  /** CPU time of the process of the sweep, all threads. */
  readonly cpuMsPerCell: number;
}

/** Runs them with one, two and four workers. Throws where there is no `redis-server`. */
export async function benchQueue(
  runs: number,
  cells: number,
  onLine: (line: QueueLine) => void,
): Promise<void> {
  const server = await startServer();
  try {
    for (const workers of [1, 2, 4]) {
      const children = Array.from({ length: workers }, () => startWorker(server.url));
      await Promise.all(children.map(({ ready }) => ready));
      const done = [];
      // The first one warms up.
      for (let run = 0; run <= runs; run++) done.push(await runAll(server.url, cells));
      done.shift();
      for (const { child } of children) child.kill('SIGTERM');
      await Promise.all(children.map(({ ended }) => ended));
      const ms = median(done.map(({ wallMs }) => wallMs)) / cells;
      const cpuMs = median(done.map((one) => one.cpuMs)) / cells;
      const [msPerCell, cpuMsPerCell] = [ms, cpuMs].map((value) => Number(value.toPrecision(3)));
      onLine({
        case: 'queue',
        workers,
        runs,
        cells,
        cellsPerS: Math.round(1000 / ms),
        msPerCell,
        cpuMsPerCell,
      });
    }
  } finally {
    await server.stop();
  }
}

/** The process of a worker, for `main.ts`: it ends on SIGTERM. */
export async function queueWorker(url: string): Promise<void> {
  const worker = await startSweepWorker(queueAddress(url, { passwordFile: undefined, ca: undefined }), {
    ...{ version: VERSION, threads: THREADS, plugins: [] },
    openRunner: () => nothing(),
    say: () => {},
    onCell: () => {},
  });
  process.once('SIGTERM', () => void worker.stop());
  process.stdout.write('ready\n');
}

/** Gives the result of one real cell for all of them, at once. */
function nothing(): CellRunner {
  let found: Promise<CellOutcome> | undefined;
  return {
    run: (task) => {
      found ??= runCell(task);
      return found;
    },
    width: THREADS,
    close: async () => {},
  };
}

async function runAll(
  url: string,
  cells: number,
): Promise<{ readonly wallMs: number; readonly cpuMs: number }> {
  const runner = await openQueueRunner(queueAddress(url, { passwordFile: undefined, ca: undefined }), {
    version: VERSION,
    say: (what) => process.stderr.write(`${what}\n`),
  });
  const before = process.cpuUsage();
  const beganMs = performance.now();
  const outcomes = await Promise.all(Array.from({ length: cells }, () => runner.run(CELL)));
  const wallMs = performance.now() - beganMs;
  const { user, system } = process.cpuUsage(before);
  await runner.close();
  const failed = outcomes.find(({ status }) => status === 'failed');
  if (failed !== undefined) throw new Error(`a cell failed: ${JSON.stringify(failed)}`);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

function startWorker(url: string): { child: ChildProcess; ready: Promise<unknown>; ended: Promise<unknown> } {
  const child = spawn(process.execPath, [MAIN, '--queue-worker', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, ready: once(child.stdout, 'data'), ended: once(child, 'exit') };
}

async function startServer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-bench-queue-'));
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', ''],
    { stdio: 'ignore' },
  );
  await once(child, 'spawn');
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
