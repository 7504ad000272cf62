import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { credentials, status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { freePorts } from '../../bench/live/hostile/subject.js';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { get, ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { pageAt } from '../../docs/pages.js';
import { GrpcClient } from '../../live/frontend/grpc-client.js';

const RATE_RPS = 70;
const RETRY_MS = 1000;
const PAUSE_MS = 2500;
const WORKERS = 2;
const SLOTS = 2;
const OK = 'ok';
const UNAVAILABLE = '503';
const CUT_OFF = 'cut off';
const BODY = JSON.stringify({
  inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }],
  parameters: { slo_ms: 5000 },
});
const MESSAGE = {
  model_name: 'tiny',
  inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } }],
  parameters: { slo_ms: { int64_param: 5000 } },
};

it.each([
  ['20 planned restarts', 20, 'SIGTERM'],
  ['20 times SIGKILL', 20, 'SIGKILL'],
] as const)('%s fail no request that is sent again once', { timeout: 900_000 }, async (_, times, signal) => {
  const site = await new Site().start();
  const traffic = new Traffic(site);
  for (let i = 0; i < times; i++) {
    const active = i % 2;
    await site.end(active, signal);
    await site.launch(active);
    await site.ready(active ^ 1);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const { failed, first, count } = await traffic.stop();
  process.stdout.write(`${count} requests; first answers ${JSON.stringify(first)}\n`);
  expect(failed).toEqual({});
  expect(count).toBeGreaterThan(times * PAUSE_MS * (RATE_RPS / 1000));
});

/** Two controllers behind HAProxy as the documentation has it. */
class Site {
  readonly front = { http: 0, grpc: 0 };
  private readonly controllers: ServerProcess[] = [];
  private ports: readonly number[] = [];
  private workers: string[] = [];

  async start(): Promise<this> {
    const device = ['--device', `simulated:${tinyProfile()}`];
    for (let i = 0; i < WORKERS; i++) {
      const { port } = await new ServerProcess([
        'worker',
        ...device,
        '--port',
        '0',
        '--metrics-port',
        'off',
      ]).ready();
      this.workers.push('--worker', `127.0.0.1:${port}`);
    }
    const [http, grpc, ...ports] = await freePorts(2 + 2 * SLOTS);
    this.ports = ports;
    Object.assign(this.front, { http, grpc });
    await this.launch(0);
    await this.ready(0);
    await this.launch(1);
    const config = pageAt('docs/how-to/split-a-cluster.md')
      .fences.find(({ file }) => file === 'haproxy.cfg')!
      .code.replaceAll(/10\.0\.[12]\.([12]):800([01])/g, (_, controller, port) => {
        return `127.0.0.1:${ports[2 * (Number(controller) - 1) + Number(port)]}`;
      })
      .replaceAll('0.0.0.0:8000', `127.0.0.1:${http}`)
      .replaceAll('0.0.0.0:8001', `127.0.0.1:${grpc}`);
    const dir = tempDir();
    writeIn(dir, 'models.map', 'tiny a\n');
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
    const haproxy = spawn('haproxy', ['-db', '-f', writeIn(dir, 'haproxy.cfg', config)], {
      stdio: 'ignore',
      env,
    });
    const exited = once(haproxy, 'close');
    onTestFinished(async () => {
      haproxy.kill('SIGKILL');
      await exited;
    });
    // Until the first checks all count as ready: each gets its turn.
    let inRow = 0;
    await until(async () => {
      const answer = await get(http, '/v2/models/tiny/ready').catch(() => null);
      inRow = answer?.status === 200 ? inRow + 1 : 0;
      return inRow >= 2 * SLOTS;
    });
    return this;
  }

  /** Resolves when it listens. */
  async launch(slot: number): Promise<void> {
    const ports = [
      ...['--http-port', this.portOf(slot)],
      ...['--grpc-port', String(this.ports[2 * slot + 1])],
    ];
    const rest = ['--metrics-port', 'off', '--standby', '--drain-notice', '3s'];
    const controller = new ServerProcess(['controller', ...this.workers, ...ports, ...rest]);
    this.controllers[slot] = controller;
    await until(() => controller.log.some(({ msg }) => msg === 'listening'));
  }

  async end(slot: number, signal: NodeJS.Signals): Promise<void> {
    await this.controllers[slot].kill(signal);
  }

  async ready(slot: number): Promise<void> {
    await until(async () => {
      const answer = await get(Number(this.portOf(slot)), '/v2/health/ready').catch(() => null);
      return answer?.status === 200;
    });
  }

  private portOf(slot: number): string {
    return String(this.ports[2 * slot]);
  }
}

/** A steady stream of requests, by HTTP and gRPC in turn, each of which is sent again once where it may be. */
class Traffic {
  private readonly first: Record<string, number> = {};
  private readonly failed: Record<string, number> = {};
  private readonly open = new Set<Promise<void>>();
  private readonly agent = new Agent({ keepAlive: true });
  private readonly client: GrpcClient;
  private readonly timer: NodeJS.Timeout;
  private count = 0;

  constructor(private readonly site: Site) {
    this.client = new GrpcClient(site.front.grpc, credentials.createInsecure());
    this.timer = setInterval(() => this.send(), 1000 / RATE_RPS);
    onTestFinished(() => clearInterval(this.timer));
  }

  async stop() {
    clearInterval(this.timer);
    await Promise.all(this.open);
    this.client.close();
    this.agent.destroy();
    const { first, failed, count } = this;
    return { first, failed, count };
  }

  private send(): void {
    const ask = this.count++ % 2 === 0 ? () => this.overHttp() : () => this.overGrpc();
    const sent = this.ask(ask).finally(() => this.open.delete(sent));
    this.open.add(sent);
  }

  private async ask(ask: () => Promise<string>): Promise<void> {
    const first = await ask();
    this.first[first] = (this.first[first] ?? 0) + 1;
    if (first === OK) return;
    let second = first;
    if (first === UNAVAILABLE || first === CUT_OFF) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      second = await ask();
    }
    if (second !== OK) this.failed[second] = (this.failed[second] ?? 0) + 1;
  }

  private overHttp(): Promise<string> {
    const { agent } = this;
    const where = { agent, host: '127.0.0.1', port: this.site.front.http, path: '/v2/models/tiny/infer' };
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json', 'content-length': BODY.length };
      const sent = request({ ...where, method: 'POST', headers }, (response) => {
        response
          .resume()
          .on('end', () => resolve(response.statusCode === 200 ? OK : String(response.statusCode)));
        response.on('error', () => resolve(CUT_OFF));
      });
      sent.on('error', () => resolve(CUT_OFF));
      sent.end(BODY);
    });
  }

  private async overGrpc(): Promise<string> {
    try {
      await this.client.call('ModelInfer', MESSAGE);
      return OK;
    } catch (error) {
      const { code, details } = error as { code: number; details: string };
      if (code === status.UNAVAILABLE) return UNAVAILABLE;
      return /RST_STREAM/.test(details) ? CUT_OFF : `gRPC ${code}: ${details}`;
    }
  }
}
