import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { queueAddress } from '../../../src/run/queue/connection.js';
import { startSweepWorker } from '../../../src/run/queue/sweep-worker.js';
import { threadPool } from '../../../src/run/sweep/pool.js';
import { runCli, runOk, SMALL_EXPERIMENT, spawnCli, tempDir, words, writeIn } from '../../cli/run-cli.js';
import { ServerProcess, until } from '../../cli/server-process.js';
import { freePorts } from '../../free-ports.js';
import { noOpenssl, selfSigned } from '../../self-signed.js';
import { noRedis, RedisServer } from './redis-server.js';
import { readyWorker } from './worker.js';

/** 8 cells that share 4 bounds, of which half fail: their trace has a mistake at its end. */
const SWEEP = `${SMALL_EXPERIMENT.replace(/workload: .*/, 'workload: { kind: arrivals, path: day.csv.gz }')}sweep:
  vary: { workload.path: [day.csv.gz, ../bad.csv], policy.kind: [clockwork, fifo] }
  seeds: [1, 2]
  bound: true
`;
const ROWS = Array.from({ length: 300 }, (_, i) => `${i * 5_000_000},${i % 15},25000000`).join('\n');

describe.skipIf(noRedis !== '')(`a queue${noRedis === '' ? '' : ` (${noRedis})`}`, () => {
  it('gives the bytes of a sweep on threads, failures too, and leaves nothing behind', async () => {
    const { server, dir, sweep, results } = await folder();
    const workers = await Promise.all([readyWorker(server), readyWorker(server)]);
    const { status, stderr } = await runCli(sweep('queue', '--queue', server.url));
    expect([status, stderr]).toEqual([4, expect.stringMatching(/finished \d+ runs? on 1 thread: \d/)]);
    expect((await runCli(sweep('alone', '--threads', '2'))).status).toBe(4);
    expect(results('queue')).toContain('bad.csv:302: ');
    expect(results('queue')).toBe(results('alone'));
    expect(readdirSync(join(dir, 'queue', 'cells'))).toHaveLength(2);
    const again = await runCli(sweep('queue', '--queue', server.url));
    expect(again.stderr).toContain('2 finished cells were reused');
    for (const worker of workers) expect(await worker.kill('SIGINT')).toBe(0);
    expect(await server.left()).toEqual([]);
  });

  it('runs policies of a plugin only on workers that were started with the same file', async () => {
    const { server, dir, sweep, results } = await folder(`${SMALL_EXPERIMENT}plugins: [own.mjs]\n`);
    const source = new URL('../../../src/policies/registry.ts', import.meta.url).pathname;
    const plugin = writeIn(
      dir,
      'own.mjs',
      `const { POLICIES } = await import(${JSON.stringify(source.replace('/src/', '/dist/').replace(/ts$/, 'js'))});
export default { ...POLICIES.find(({ kind }) => kind === 'fifo'), kind: 'own' };\n`,
    );
    const vary = ['--vary', 'policy.kind=clockwork,own'];
    const without = await readyWorker(server);
    expect((await runCli(sweep('queue', '--queue', server.url, ...vary))).status).toBe(4);
    expect(results('queue')).toMatch(/does not have this plugin .*sweep-worker --plugin FILE/);
    await without.kill('SIGINT');
    await readyWorker(server, '--plugin', plugin);
    await runOk(sweep('queue', '--queue', server.url, ...vary));
    await runOk(sweep('alone', '--threads', '2', ...vary));
    expect(results('queue')).toBe(results('alone'));
  });

  it('Ctrl-C keeps what is done and takes the rest out of the queue', async () => {
    const { server, dir, sweep } = await folder(SMALL_EXPERIMENT.replace('duration: 2s', 'duration: 20s'));
    const worker = await readyWorker(server);
    const seeds = ['--seeds', '1:300:1', '--queue', server.url];
    const stopped = await spawnCli(sweep('stopped', ...seeds), {
      interruptWhen: () => cellsIn(join(dir, 'stopped')) > 0,
    });
    expect([stopped.status, stopped.stderr]).toEqual([
      130,
      expect.stringMatching(/[1-9]\d* of 300 cells are/),
    ]);
    expect(cellsIn(join(dir, 'stopped'))).toBeGreaterThan(0);
    expect(await worker.kill('SIGTERM')).toBe(0);
    expect(await server.left()).toEqual([]);
  });

  it('leaves out workers of another version, and says which one it needs', async () => {
    const { server, dir, sweep } = await folder(SMALL_EXPERIMENT);
    let ran = 0;
    const other = await startSweepWorker(queueAddress(server.url), {
      ...{ version: '9.9.9', threads: 1, openRunner: threadPool, plugins: [] },
      say: () => {},
      onCell: () => ran++,
    });
    const running = new ServerProcess(sweep('queue', '--seeds', '1,2', '--queue', server.url));
    await until(() => running.stderr.includes('no worker takes the cells'));
    expect(running.stderr).toMatch(
      /start escapement sweep-worker .*, on any machine with escapement \S+ on \S+ with V8/,
    );
    await readyWorker(server);
    await until(() => running.hasEnded);
    await other.stop();
    expect([ran, cellsIn(join(dir, 'queue'))]).toEqual([0, 2]);
  });

  it('needs a user who may touch its keys, and no more', async () => {
    const { server, dir, sweep, results } = await folder(SMALL_EXPERIMENT, ['--requirepass', 'admin']);
    const client = server.connect('admin');
    const rights = ['resetchannels', '~escapement:*', '+@all', '-@admin', '-@dangerous', '+info'];
    await client.call('ACL', 'SETUSER', 'sweeps', 'on', '>word', ...rights);
    const url = server.url.replace('//', '//sweeps@');
    const password = ['--queue-password-file', writeIn(dir, 'password', 'word\n')];
    await readyWorker(server, '--queue', url, ...password);
    await runOk(sweep('queue', '--seeds', '1,2', '--queue', url, ...password));
    await runOk(sweep('alone', '--seeds', '1,2', '--threads', '2'));
    expect(results('queue')).toBe(results('alone'));
    for (const wrong of ['sweeps:hidden@', ':hidden@', '']) {
      const refused = await runCli(
        sweep('no', '--seeds', '1,2', '--queue', server.url.replace('//', `//${wrong}`)),
      );
      expect([refused.status, refused.stderr]).toEqual([
        38,
        expect.stringContaining('refuses the user or password'),
      ]);
      expect(refused.stderr).not.toContain('hidden');
    }
  });

  it.skipIf(noOpenssl)(
    'speaks TLS with a server whose authority it was given, and with no other',
    async () => {
      const { cert, key } = selfSigned();
      const dir = tempDir();
      const [certFile, keyFile] = [writeIn(dir, 'cert.pem', cert), writeIn(dir, 'key.pem', key)];
      const tls = ['--tls-port', 'PORT', '--tls-cert-file', certFile, '--tls-key-file', keyFile];
      const { server, sweep } = await folder(SMALL_EXPERIMENT, [...tls, '--tls-auth-clients', 'no']);
      const url = server.url.replace('redis:', 'rediss:');
      await readyWorker(server, '--queue', url, '--queue-ca', certFile);
      await runOk(sweep('queue', '--seeds', '1,2', '--queue', url, '--queue-ca', certFile));
      const refused = await runCli(sweep('no', '--seeds', '1,2', '--queue', url));
      expect([refused.status, refused.stderr]).toEqual([
        38,
        expect.stringContaining('give its authority with --queue-ca'),
      ]);
    },
  );
});

describe('a server that is not there', () => {
  it.each([['sweep'], ['plan'], ['sweep-worker']])('ends %s with E_QUEUE', async (command) => {
    const dir = tempDir();
    const file = writeIn(dir, 'run.yaml', SMALL_EXPERIMENT);
    const flags = {
      sweep: [file, '--seeds', '1,2', '--out', join(dir, 'out')],
      plan: [file, '--over', 'slo=5ms:50ms:5ms', '--target', 'attainment>=0.9'],
      'sweep-worker': [],
    }[command]!;
    const [port] = await freePorts(1);
    const { status, stderr } = await runCli(
      words`${command} ${flags} --queue redis://me:hidden@127.0.0.1:${port}`,
    );
    expect([status, stderr]).toEqual([38, expect.stringContaining('nothing listens there')]);
    expect(stderr).not.toContain('hidden');
    expect(existsSync(join(dir, 'out'))).toBe(false);
  });

  it('is one that never answers, too', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const { status, stderr } = await runCli(['sweep-worker', '--queue', `redis://127.0.0.1:${port}`]);
    expect([status, stderr]).toEqual([38, expect.stringContaining('no answer within 5 s')]);
  });

  it.each([
    [['--queue', 'redis://h', '--shard', '1/2'], '--shard and --queue cannot be combined'],
    [['--queue', 'redis://h', '--threads', '2'], '--threads and --queue cannot be combined'],
    [['--queue-ca', 'ca.pem'], '--queue-ca needs --queue'],
    [['--queue', 'h:6379'], 'write redis://HOST:PORT'],
  ])('%o is a mistake', async (flags, words) => {
    const file = writeIn(tempDir(), 'run.yaml', SMALL_EXPERIMENT);
    const { status, stderr } = await runCli(['sweep', file, '--seeds', '1,2', ...flags]);
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});

/** A server, and a folder with a sweep. */
async function folder(text = SWEEP, options: readonly string[] = []) {
  const server = await RedisServer.start(...options);
  const dir = tempDir();
  const file = writeIn(dir, 'run.yaml', text);
  writeIn(dir, 'day.csv.gz', gzipSync(`arrival_ns,model_id,slo_ns\n${ROWS}\n`));
  writeIn(join(dir, '..'), 'bad.csv', `arrival_ns,model_id,slo_ns\n${ROWS}\n9999999999,x,1\n`);
  const sweep = (out: string, ...flags: string[]) => ['sweep', file, '--out', join(dir, out), ...flags];
  const results = (out: string) => readFileSync(join(dir, out, 'results.json'), 'utf8');
  return { server, dir, file, sweep, results };
}

function cellsIn(out: string): number {
  if (!existsSync(join(out, 'cells'))) return 0;
  return readdirSync(join(out, 'cells')).filter((name) => name.endsWith('.json')).length;
}
