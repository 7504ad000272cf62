import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runOk, SMALL_EXPERIMENT, tempDir, words, writeIn } from '../../cli/run-cli.js';
import { ServerProcess, until } from '../../cli/server-process.js';
import { noRedis, RedisServer } from './redis-server.js';
import { readyWorker } from './worker.js';

const SEEDS = ['--seeds', '1:24:1'];
/** Locks of workers hold for 10 s. */
const FROZEN_MS = 16_000;

describe.skipIf(noRedis !== '')(`a sweep of 24 cells${noRedis === '' ? '' : ` (${noRedis})`}`, () => {
  const dir = tempDir();
  const file = writeIn(dir, 'run.yaml', SMALL_EXPERIMENT.replace('duration: 2s', 'duration: 20s'));
  let alone: string;

  beforeAll(async () => {
    await runOk(['sweep', file, ...SEEDS, '--out', join(dir, 'alone'), '--threads', '2', '--quiet']);
    alone = results('alone');
  });

  it.each<[string, (running: Running) => Promise<void>]>([
    [
      'a worker is killed',
      async ({ workers }) => {
        await workers[0]!.kill('SIGKILL');
      },
    ],
    [
      'all workers are killed and others come',
      async ({ server, workers }) => {
        await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
        await readyWorker(server);
      },
    ],
    [
      'a worker is stopped',
      async ({ workers }) => {
        expect(await workers[0]!.kill('SIGTERM')).toBe(0);
      },
    ],
    [
      'a worker freezes for longer than others wait',
      async ({ workers: [frozen] }) => {
        frozen!.signal('SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
        frozen!.signal('SIGCONT');
      },
    ],
    [
      'the server is killed and comes back',
      async ({ server, sweep }) => {
        await server.kill();
        await until(() => sweep.stderr.includes('is away') || sweep.hasEnded);
        await server.start();
        await until(() => sweep.stderr.includes('is back') || sweep.hasEnded);
      },
    ],
    [
      'the server is killed and has lost everything',
      async ({ server }) => {
        await server.kill();
        server.forget();
        await server.start();
      },
    ],
    [
      'the server freezes',
      async ({ server, sweep }) => {
        server.signal('SIGSTOP');
        await until(() => sweep.stderr.includes('has not answered') || sweep.hasEnded);
        server.signal('SIGCONT');
        expect(sweep.stderr).toContain('has not answered');
      },
    ],
  ])('has the same bytes when %s', async (name, fault) => {
    const server = await RedisServer.start();
    const workers = [await readyWorker(server), await readyWorker(server)];
    const out = name.replaceAll(' ', '-');
    const sweep = new ServerProcess(
      words`sweep ${file} ${SEEDS} --out ${join(dir, out)} --queue ${server.url}`,
    );
    await until(() => /\d+% /.test(sweep.stderr) || sweep.hasEnded);
    await fault({ server, workers, sweep });
    await until(() => sweep.hasEnded);
    expect(sweep.stderr).toMatch(/finished \d+ runs? on 1 thread/);
    expect(results(out)).toBe(alone);
    for (const said of ['is away', 'is back', 'has not answered'])
      expect(sweep.stderr.split(said).length, said).toBeLessThanOrEqual(2);
    for (const worker of workers) if (!worker.hasEnded) expect(await worker.kill('SIGINT')).toBe(0);
    const statuses = await Promise.all(workers.map((worker) => worker.kill('SIGINT')));
    // The cell of a worker that was killed stays until another one looks after it.
    if (statuses.includes(null)) await readyWorker(server);
    await until(async () => (await server.left()).length === 0);
  });

  it('fails a cell that ends every worker, and finishes the others', async () => {
    const server = await RedisServer.start();
    const out = join(dir, 'poison');
    const sweep = new ServerProcess(
      words`sweep ${file} --seeds 1 --vary slo=25ms,26ms --out ${out} --queue ${server.url}`,
    );
    // Each worker freezes for good with the one cell that it has; the last one runs the other.
    const client = server.connect();
    await until(
      async () => (await client.keys('*:active')).length + (await client.keys('*:wait')).length > 0,
    );
    const key = (await client.keys('escapement:cells-*-0'))[0]!;
    expect(key).toBeDefined();
    await client.hset(key, 'stc', '2');
    const frozen = await readyWorker(server);
    await until(
      async () => (await client.keys('*:lock')).some((name) => name.includes(key)) || sweep.hasEnded,
    );
    frozen.signal('SIGSTOP');
    await readyWorker(server);
    await until(() => sweep.hasEnded);
    const { cells } = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8'));
    expect(cells.map(({ status }: { status: string }) => status).sort()).toEqual(['done', 'failed']);
    expect(JSON.stringify(cells)).toContain('no worker could finish it');
  });

  function results(out: string): string {
    return readFileSync(join(dir, out, 'results.json'), 'utf8');
  }
});

interface Running {
  readonly server: RedisServer;
  readonly workers: readonly ServerProcess[];
  readonly sweep: ServerProcess;
}
