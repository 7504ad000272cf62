import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runOk, tempDir } from '../cli/run-cli.js';
import { type Ready, until } from '../cli/server-process.js';
import { ContainerStore, missingContainerTools } from './container-store.js';

/** Ports that are free, and little memory. */
const PORTS = ['--metrics-port', '0'];
const SLO_MS = 20_000;

describe('the image', () => {
  const store = new ContainerStore();
  const repository = join(tempDir(), 'models');
  let noImage = missingContainerTools();

  beforeAll(async () => {
    if (noImage !== '') return;
    await runOk(['model', 'make', 'mlp', '--repository', repository, '--name', 'ranker', '--input', '4']);
    // Containers run as other users.
    chmodSync(join(repository, '..'), 0o755);
    noImage = await store.build();
  }, 900_000);
  afterAll(() => store.remove());

  it('runs as a user without rights, and listens to other machines', async ({ skip }) => {
    skip(noImage !== '', `no image: ${noImage}`);
    const config = await store.inspect();
    expect(config).toMatchObject({ User: '65532:65532', Cmd: ['--help'] });
    expect(config.Env).toEqual(expect.arrayContaining(['ESCAPEMENT_HOST=0.0.0.0', 'NODE_ENV=production']));
    const whoAmI =
      'id -u; touch /opt/escapement/x || touch /data/x && touch /var/cache/escapement/x && echo wrote';
    const { stdout, status } = await ended(store.start(['--entrypoint', 'sh'], ['-c', whoAmI]));
    expect({ stdout, status }).toEqual({ stdout: '65532\nwrote\n', status: 0 });
  });

  it('serves as a controller and two workers, read-only and as any user, and drains when stopped', async ({
    skip,
  }) => {
    skip(noImage !== '', `no image: ${noImage}`);
    const command = ['worker', '--repository', '/models', '--port', '0', '--memory', '256MiB', ...PORTS];
    const models = ['--volume', `${repository}:/models:ro`];
    const workers = [[], ['--user', '12345:0']].map(
      (user) => new Container(store.start([...models, ...user], command)),
    );
    const addresses = await Promise.all(
      workers.map(async (worker) => `127.0.0.1:${(await worker.ready()).port}`),
    );
    const controller = new Container(
      store.start(
        [],
        [
          ...['controller', ...addresses.flatMap((address) => ['--worker', address]), '--min-workers', '2'],
          ...['--http-port', '0', '--grpc-port', '0', '--set', `slo=${SLO_MS}ms`, ...PORTS],
        ],
      ),
    );
    const { http = 0 } = await controller.ready();
    expect(controller.log).toContain('anyone who can reach 0.0.0.0 can use this process');
    const answers: number[] = [];
    const client = async () => {
      for (let i = 0; i < 25; i++) answers.push(await ask(http));
    };
    await Promise.all(Array.from({ length: 8 }, client));
    expect(answers).toEqual(Array(200).fill(200));

    const underWay = Array.from({ length: 16 }, () => ask(http));
    await Promise.race(underWay);
    expect(await controller.stop()).toBe(0);
    // What it had read is served, what it reads after the signal is refused, and nothing is cut off.
    expect((await Promise.all(underWay)).filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(controller.log).toMatch(/"msg":"SIGTERM: no new requests".*"msg":"closed"/s);
    for (const worker of workers) {
      expect(await worker.stop()).toBe(0);
      expect(worker.log).toMatch(/"msg":"closed"/);
    }
  });

  it('ends by SIGTERM where a command has nothing to drain', async ({ skip }) => {
    skip(noImage !== '', `no image: ${noImage}`);
    // Says when a signal would be handled: before that, a first process ignores it.
    const watch = `const timer = setInterval(() => {
      if (process.listenerCount('SIGTERM') === 0) return;
      clearInterval(timer);
      console.log('begun');
    }, 10)`;
    const options = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(watch)}`;
    const container = store.start(['--env', options], ['doctor', '--role', 'client']);
    const exited = ended(container);
    await once(container.stdout as Readable, 'data');
    container.kill('SIGTERM');
    expect(await exited).toEqual({ stdout: 'begun\n', status: 130 });
  });
});

/** A container that runs until it is stopped. */
class Container {
  log = '';
  private readonly exited: Promise<number | null>;

  constructor(private readonly process: ChildProcess) {
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
    });
    process.stdout?.resume();
    this.exited = once(process, 'close').then(([status]) => status);
    onTestFinished(async () => {
      process.kill('SIGKILL');
      await this.exited;
    });
  }

  async ready(): Promise<Ready> {
    const line = () => /^\{.*"msg":"ready".*\}$/m.exec(this.log)?.[0];
    await until(() => line() !== undefined || this.process.exitCode !== null);
    const found = line();
    if (found === undefined) throw new Error(`ended before it was ready: ${this.log}`);
    return JSON.parse(found);
  }

  /** Resolves with the exit status. */
  stop(): Promise<number | null> {
    this.process.kill('SIGTERM');
    return this.exited;
  }
}

async function ended(process: ChildProcess): Promise<{ stdout: string; status: number | null }> {
  let stdout = '';
  process.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  process.stderr?.resume();
  const [status] = await once(process, 'close');
  return { stdout, status };
}

/** The status of the answer to a request. */
async function ask(port: number): Promise<number> {
  const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }];
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/ranker/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs }),
  });
  await response.arrayBuffer();
  return response.status;
}
