import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli, tempDir, words } from '../run-cli.js';
import { get, infer, ServerProcess, tinyProfile, until } from '../server-process.js';

const ANY_PORTS = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
const PATIENT = ['--set', 'slo=10s'];

/** A worker with one simulated GPU and three models. */
function startWorker(profile: string, port = 0): ServerProcess {
  const device = ['--device', `simulated:${profile}`, '--copies', '3'];
  return new ServerProcess(['worker', ...device, '--port', String(port), '--metrics-port', 'off']);
}

describe('a controller and two workers, each a process', () => {
  it('answers every request though workers are killed, uses them when they are back, and drains', async () => {
    const profile = tinyProfile();
    const workers = [startWorker(profile), startWorker(profile)];
    const ports = await Promise.all(workers.map(async (worker) => (await worker.ready()).port as number));
    const journal = join(tempDir(), 'run.journal');
    const controller = new ServerProcess([
      'controller',
      ...ports.flatMap((port) => ['--worker', `127.0.0.1:${port}`]),
      ...['--journal', journal],
      ...ANY_PORTS,
      ...PATIENT,
    ]);
    const { http, metrics } = await controller.ready();
    const isReady = async () => (await get(http, '/v2/health/ready')).status === 200;
    const isUp = async (port: number) =>
      (await get(metrics, '/metrics')).text.includes(`escapement_worker_up{worker="127.0.0.1:${port}"} 1`);
    await until(async () => (await isUp(ports[0])) && (await isUp(ports[1])));

    // Clients that ask again as soon as they are answered, all the while.
    const statuses: number[] = [];
    let goOn = true;
    const clients = Array.from({ length: 8 }, async (_, i) => {
      while (goOn) statuses.push(await infer(http, `tiny-${i % 3}`));
    });
    const someMore = async (count: number) => {
      const from = statuses.length;
      await until(() => statuses.length >= from + count);
    };
    await someMore(50);

    for (const [index, port] of ports.entries()) {
      const other = ports[1 - index];
      expect(await workers[index].kill('SIGKILL')).toBe(null);
      await until(async () => !(await isUp(port)));
      expect([await isReady(), await isUp(other)]).toEqual([true, true]);
      // For the second one, that is: by the worker that was killed before, and started again.
      await someMore(50);
      workers[index] = startWorker(profile, port);
      await workers[index].ready();
      await until(() => isUp(port));
      await someMore(20);
    }
    goOn = false;
    await Promise.all(clients);
    // There was always a worker, and time enough.
    expect(new Set(statuses)).toEqual(new Set([200]));

    expect(await controller.kill('SIGTERM')).toBe(0);
    const replay = await runCli(['replay', journal, '--json']);
    expect(replay.status).toBe(0);
    expect(JSON.parse(replay.stdout)).toMatchObject({ requests: statuses.length, truncated: false });
    for (const worker of workers) expect(await worker.kill('SIGTERM')).toBe(0);
  });
});

describe('escapement controller', () => {
  it('says in one line what is wrong, and ends', async () => {
    const cases: [string[], number, RegExp][] = [
      [[], 2, /E_USAGE: --worker HOST:PORT is required, at least once/],
      [['--worker', 'somewhere'], 2, /E_USAGE: .*somewhere/],
      [['--worker', '127.0.0.1:1', '--worker-token-file', '/nowhere'], 20, /E_FILE_MISSING: .*\/nowhere/],
      [['--worker', '127.0.0.1:1', '--set', 'slo=0s'], 12, /E_CONFIG_VALUE: .*slo/],
    ];
    for (const [args, status, message] of cases) {
      const run = await runCli(['controller', ...args, ...ANY_PORTS]);
      expect(run.stderr, args.join(' ')).toMatch(message);
      expect(run.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1);
      expect(run.status, args.join(' ')).toBe(status);
    }
  });

  it('names flags that cannot be combined', async () => {
    const profile = tinyProfile();
    const worker = startWorker(profile);
    const other = new ServerProcess(
      words`worker --device simulated:${profile} --page-size 8MiB --port 0 --metrics-port off`,
    );
    const [a, b] = [(await worker.ready()).port, (await other.ready()).port];
    const run = await runCli(
      words`controller --worker 127.0.0.1:${a} --worker 127.0.0.1:${b} --log-level error ${ANY_PORTS}`,
    );
    expect(run.stderr).toMatch(
      /^escapement: E_WORKER: workers 127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+ don't match: their page sizes differ$/m,
    );
    expect(run.status).toBe(45);
  });
});

describe('escapement worker', () => {
  it('says in one line what is wrong with its flags, and ends', async () => {
    const simulated = ['--device', `simulated:${tinyProfile()}`, '--metrics-port', 'off'];
    const cases: [string[], number, RegExp][] = [
      [['--port', '0'], 2, /E_USAGE: --repository FOLDER is required/],
      [[...simulated, '--port', '70000'], 2, /E_USAGE: --port 70000: must be a port, at most 65535/],
      [
        [...simulated, '--kind', 'a t4'],
        2,
        /E_USAGE: --kind a t4: write a name of letters, digits, _ and -, e\.g\. t4/,
      ],
      [[...simulated, '--port', 'off'], 2, /E_USAGE: --port off: a worker needs a port/],
      [[...simulated, '--port', '0', '--host', '192.0.2.1'], 43, /E_LISTEN: /],
      [
        [...simulated, '--port', '0', '--tls-key', '/nowhere'],
        2,
        /E_USAGE: missing option: --tls-key needs --tls-cert/,
      ],
    ];
    for (const [args, status, message] of cases) {
      const run = await runCli(['worker', ...args]);
      expect(run.stderr, args.join(' ')).toMatch(message);
      expect(run.stderr.trimEnd().split('\n').at(-1), args.join(' ')).toMatch(/^escapement: E_/);
      expect(run.status, args.join(' ')).toBe(status);
    }
  });
});
