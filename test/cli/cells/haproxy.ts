import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CellMap } from '../../../src/run/cells/cell-map.js';
import { runOk, tempDir, writeIn } from '../run-cli.js';
import { get, ServerProcess, tinyProfile, until } from '../server-process.js';

/** Debian puts it where users other than root do not look. */
const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
const VERSION = /version (\d+)\.(\d+)/.exec(
  spawnSync('haproxy', ['-v'], { encoding: 'utf8', env: ENV }).stdout ?? '',
);
/** Why tests with a real HAProxy cannot run; null: they can. */
export const NO_HAPROXY =
  VERSION === null
    ? 'haproxy is not installed'
    : Number(VERSION[1]) * 100 + Number(VERSION[2]) < 206
      ? 'haproxy is older than 2.6'
      : null;

/** Another process may take a free port before HAProxy does. */
const TRIES = 5;

/** What a real HAProxy says of a configuration; empty: nothing is wrong with it. */
export function complaintsOf(config: string): string {
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', config], {
    encoding: 'utf8',
    env: ENV,
  });
  const said = `${stdout}${stderr}`.split('\n').filter((line) => /WARNING|ALERT/.test(line));
  return status === 0 ? said.join('\n') : `status ${status}: ${stdout}${stderr}`;
}

/** One of the cells: a worker with emulated GPUs, an active controller and a standby. */
export interface RunningCell {
  readonly worker: ServerProcess;
  readonly controllers: readonly ServerProcess[];
  readonly addresses: string;
}

/** Starts a worker that serves these models, and two controllers for it, of which the first drives it. */
export async function startCell(models: readonly string[]): Promise<RunningCell> {
  const device = `simulated:${models.map((name) => tinyProfile(name)).join(',')}`;
  const worker = new ServerProcess(['worker', '--device', device, '--port', '0', '--metrics-port', 'off']);
  const { port } = await worker.ready();
  const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off'];
  const args = ['controller', '--worker', `127.0.0.1:${port}`, ...ports];
  const active = new ServerProcess(args);
  const first = await active.ready();
  const standby = new ServerProcess([...args, '--standby']);
  await until(() => listening(standby) !== undefined);
  const second = listening(standby)!;
  await until(async () => (await get(second.http, '/v2/health/ready')).text.includes('stands by'));
  return {
    worker,
    controllers: [active, standby],
    addresses: [first, second].map(({ http, grpc }) => `127.0.0.1:${http}:${grpc}`).join(','),
  };
}

function listening({ log }: ServerProcess) {
  return log.find(({ msg }) => msg === 'listening');
}

/** A real HAProxy before cells, with the configuration that the command writes for them. */
export interface Front {
  readonly http: number;
  readonly grpc: number;
}

/** `models`: those of each cell; of a model in several, each gets an equal slice. */
export async function startFront(
  cells: readonly RunningCell[],
  models: readonly (readonly string[])[],
  flags: readonly string[] = [],
): Promise<Front> {
  const map = writeIn(tempDir(), 'cells.json', JSON.stringify(mapOf(models)));
  const addresses = cells.flatMap(({ addresses: list }, i) => ['--cell', `cell-${i + 1}=${list}`]);
  for (let tries = 1; ; tries++) {
    const [http, grpc] = [await freePort(), await freePort()];
    const out = tempDir();
    const ports = ['--http-port', String(http), '--grpc-port', String(grpc)];
    await runOk(['cells', 'haproxy', map, ...addresses, ...ports, '--out', out, ...flags]);
    if (await runHaproxy(join(out, 'haproxy.cfg'), http)) {
      await settled(http, models);
      return { http, grpc };
    }
    if (tries === TRIES) throw new Error('haproxy does not start');
  }
}

/** A map as `plan --cells` writes it. */
export function mapOf(models: readonly (readonly string[])[]): CellMap {
  const owners = (name: string) => models.flatMap((own, cell) => (own.includes(name) ? [cell] : []));
  return {
    ...{ version: 1, escapement: '0.0.0', name: 'test', intervalSeconds: 1 },
    cells: models.map((own, cell) => ({
      ...{ name: `cell-${cell + 1}`, gpus: `${cell}:${cell + 1}`, load: 1, loadShare: 1 / models.length },
      ...{ peakLoad: 1, weightsBytes: 1 },
      models: own.map((name) => {
        const all = owners(name);
        const at = all.indexOf(cell);
        const slice = [at / all.length, (at + 1) / all.length] as const;
        return { name, load: 1, ...(all.length === 1 ? {} : { requests: slice }) };
      }),
    })),
  };
}

/** Resolves with false where it ends, as it does when somebody took one of its ports. */
async function runHaproxy(config: string, http: number): Promise<boolean> {
  const child: ChildProcess = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore', env: ENV });
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const hasEnded = () => child.exitCode !== null;
  const isReady = () =>
    get(http, '/v2/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
  await until(async () => hasEnded() || (await isReady()));
  return !hasEnded();
}

/** Controllers count as ready until their first check, standbys, too: resolves when none of them is asked any more. */
async function settled(http: number, models: readonly (readonly string[])[]): Promise<void> {
  for (const [name] of models) {
    const path = `/v2/models/${encodeURIComponent(name!)}/ready`;
    let inRow = 0;
    // Controllers take turns.
    await until(async () => {
      inRow = (await get(http, path)).status === 200 ? inRow + 1 : 0;
      return inRow >= 6;
    });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
