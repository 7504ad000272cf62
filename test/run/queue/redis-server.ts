import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { tempDir } from '../../cli/run-cli.js';
import { freePorts } from '../../free-ports.js';

/** Empty where there is a Redis server, otherwise what is missing. */
export const noRedis =
  spawnSync('redis-server', ['--version']).error === undefined
    ? ''
    : 'no Redis server: apt-get install redis-server';

/** A Redis server on a loopback port, at the latest until the test ends. */
export class RedisServer {
  private readonly dir = tempDir();
  private child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly options: readonly string[],
  ) {}

  /** `options`: further ones of the command line. */
  static async start(...options: string[]): Promise<RedisServer> {
    const [port] = await freePorts(1);
    const server = new RedisServer(port!, options);
    onTestFinished(() => server.kill());
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again, with what its file holds. */
  async start(): Promise<void> {
    const { port, dir, options } = this;
    const address = options.includes('--tls-port')
      ? ['--port', '0', ...options.map((option) => (option === 'PORT' ? String(port) : option))]
      : ['--port', String(port), ...options];
    const kept = ['--dir', dir, '--appendonly', 'yes', '--save', ''];
    this.child = spawn('redis-server', ['--bind', '127.0.0.1', ...address, ...kept], { stdio: 'ignore' });
    for (;;) {
      if (this.child.exitCode !== null) throw new Error(`redis-server ended with ${this.child.exitCode}`);
      const answer = spawnSync('redis-cli', [...this.client(), 'ping'], { encoding: 'utf8' });
      if (/PONG|NOAUTH|WRONGPASS/.test(`${answer.stdout}${answer.stderr}`)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Kills it; what its file holds stays. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** What it held is gone; it must not run. */
  forget(): void {
    rmSync(join(this.dir, 'appendonlydir'), { recursive: true, force: true });
  }

  /** A connection of the test's own. */
  connect(password = ''): Redis {
    const client = new Redis({ host: '127.0.0.1', port: this.port, password, maxRetriesPerRequest: null });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    return client;
  }

  /** What is left of sweeps: all keys but the few that BullMQ keeps of a queue without jobs. */
  async left(): Promise<string[]> {
    const keys = await this.connect().keys('*');
    return keys.filter((key) => !/:(meta|id|events|marker|stalled-check)$/.test(key));
  }

  private client(): string[] {
    const tls = this.options.includes('--tls-port') ? ['--tls', '--insecure'] : [];
    return ['-p', String(this.port), ...tls];
  }
}
