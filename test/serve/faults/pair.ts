import { expect, onTestFinished } from 'vitest';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { get, type ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { CountingClients } from './clients/counting-clients.js';
import { FailoverAsker } from './clients/failover-asker.js';
import { FaultProxy } from './fault-proxy.js';
import { COPIES, faultyProcess, SIMULATED, TOKEN } from './rig.js';

const WORKERS = 2;
const CLIENTS = 6;
const SLO_MS = 20_000;

/** Two controllers for the same workers, each with links of its own, and clients that ask either. */
export class Pair {
  readonly workers: ServerProcess[] = [];
  readonly controllers: ServerProcess[] = [];
  /** By controller and worker. */
  readonly links: FaultProxy[][] = [[], []];
  private readonly http = [0, 0];
  private readonly token = writeIn(tempDir(), 'token', TOKEN);
  private readonly device = ['--device', `simulated:${tinyProfile()}`, '--copies', String(COPIES)];

  async start(): Promise<this> {
    for (let i = 0; i < WORKERS; i++) this.workers.push(this.newWorker());
    for (const worker of this.workers) {
      const port = (await worker.ready()).port as number;
      for (const links of this.links) links.push(await new FaultProxy(port).listen());
    }
    await this.startController(0);
    await this.startController(1, ['--standby']);
    return this;
  }

  private newWorker(): ServerProcess {
    const ports = ['--port', '0', '--metrics-port', 'off'];
    return faultyProcess(['worker', ...this.device, ...ports, '--token-file', this.token]);
  }

  /** Resolves when it listens. */
  async startController(index: number, more: readonly string[] = []): Promise<void> {
    const args = [
      ...this.links[index].flatMap(({ port }) => ['--worker', `127.0.0.1:${port}`]),
      ...['--http-port', String(this.http[index]), '--grpc-port', 'off', '--metrics-port', 'off'],
      ...['--worker-token-file', this.token, ...more],
    ];
    const controller = faultyProcess(['controller', ...args]);
    this.controllers[index] = controller;
    await until(() => controller.log.some(({ msg }) => msg === 'listening'));
    this.http[index] = controller.log.find(({ msg }) => msg === 'listening')?.http as number;
  }

  clients(): CountingClients {
    const ports = [() => this.http[0], () => this.http[1]];
    const clients = new CountingClients(
      (doubled) => Array.from({ length: CLIENTS }, () => new FailoverAsker(ports, doubled)),
      SIMULATED,
      SLO_MS,
    );
    onTestFinished(() => void clients.stop());
    return clients;
  }

  /** Resolves when the controller drives the workers. */
  async drives(index: number): Promise<void> {
    await until(() => this.isReady(index));
  }

  async isReady(index: number): Promise<boolean> {
    const ready = get(this.http[index], '/v2/health/ready').then(({ status }) => status === 200);
    return ready.catch(() => false);
  }

  /** Resolves when it says that it leaves the workers to the other. */
  async standsBy(index: number): Promise<void> {
    await until(async () => {
      const ready = await get(this.http[index], '/v2/health/ready').catch(() => ({ text: '' }));
      return ready.text.includes('stands by');
    });
  }

  /** Resolves when one of them drives the workers, and the other says that it stands by. */
  async settled(): Promise<void> {
    await Promise.race([
      Promise.all([this.drives(0), this.standsBy(1)]),
      Promise.all([this.drives(1), this.standsBy(0)]),
    ]);
  }

  /** How often it has said in its log that it stands by. */
  timesStoodBy(index: number): number {
    return this.controllers[index].log.filter(({ msg }) => msg.startsWith('stands by')).length;
  }
}

/** None lost, doubled or wrong; none failed but with words that send clients elsewhere. */
export async function judgeAll(clients: CountingClients): Promise<void> {
  const { lost, wrong, doubled, failures, ok } = await clients.stop();
  expect({ lost, wrong, doubled, failures: [...failures] }).toEqual({
    lost: 0,
    wrong: [],
    doubled: [],
    failures: [],
  });
  expect(ok).toBeGreaterThan(0);
}
