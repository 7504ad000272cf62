import { readdirSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { get, type ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { CountingClients } from './clients/counting-clients.js';
import { FailoverAsker } from './clients/failover-asker.js';
import { HttpAsker } from './clients/http-asker.js';
import type { Asker } from './clients/tally.js';
import { NO_WORKER, SILENT } from './play.js';
import { COPIES, faultyProcess, SIMULATED, TOKEN } from './rig.js';

const CLIENTS = 4;
const SLO_MS = 20_000;

/** Controllers that know no worker, and workers that register with all of them; each is a process. */
export class JoiningRig {
  readonly controllers: ServerProcess[] = [];
  readonly journal = `${tempDir()}/run.journal`;
  private readonly ports: { http: number; metrics: number; registration: number }[] = [];
  private readonly token = writeIn(tempDir(), 'token', TOKEN);
  private readonly device = ['--device', `simulated:${tinyProfile()}`, '--copies', String(COPIES)];

  /** Resolves when it listens: on the ports that it had before, if there were any. */
  async startController(index = 0, more: readonly string[] = []): Promise<void> {
    const { http, metrics, registration } = this.ports[index] ?? { http: 0, metrics: 0, registration: 0 };
    const controller = faultyProcess([
      ...['controller', '--listen', registration, '--http-port', http, '--metrics-port', metrics].map(String),
      ...['--grpc-port', 'off', '--max-gpus', '8', '--worker-token-file', this.token, ...more],
    ]);
    this.controllers[index] = controller;
    const line = () =>
      controller.log.find(({ msg }) => msg === 'listening') as (typeof this.ports)[0] | undefined;
    await until(() => line() !== undefined);
    this.ports[index] = line() as (typeof this.ports)[0];
  }

  registrationPort(index = 0): number {
    return this.ports[index].registration;
  }

  /** Resolves when it serves; it may not have joined yet. */
  async startWorker(token = TOKEN): Promise<ServerProcess> {
    const file = token === TOKEN ? this.token : writeIn(tempDir(), 'token', token);
    const worker = faultyProcess([
      ...['worker', ...this.device, '--port', '0', '--metrics-port', 'off', '--token-file', file],
      ...this.ports.flatMap(({ registration }) => ['--controller', `127.0.0.1:${registration}`]),
    ]);
    await worker.ready();
    return worker;
  }

  /** Those of one controller; of several, each asks the other where one is not ready. */
  clients(subjects = SIMULATED): CountingClients {
    const [first] = this.ports;
    const ports = this.ports.map((_, index) => () => this.ports[index].http);
    const connect = (doubled: (what: string) => void): Asker =>
      ports.length > 1
        ? new FailoverAsker(ports, doubled)
        : new HttpAsker({ port: () => first.http, ca: null }, doubled);
    const clients = new CountingClients(
      (doubled) => Array.from({ length: CLIENTS }, () => connect(doubled)),
      subjects,
      SLO_MS,
    );
    onTestFinished(() => void clients.stop());
    return clients;
  }

  /**
   * No request was lost, doubled or answered wrongly, and none failed but with words that send clients elsewhere, or for want
   * of a worker where a busy machine kept one from answering.
   */
  async judge(clients: CountingClients): Promise<void> {
    if (this.controllers.some(({ stderr }) => SILENT.test(stderr))) clients.tally.excuse(NO_WORKER);
    const { lost, wrong, doubled, failures, ok } = await clients.stop();
    expect({ lost, wrong, doubled, failures: [...failures] }).toEqual({
      lost: 0,
      wrong: [],
      doubled: [],
      failures: [],
    });
    expect(ok).toBeGreaterThan(0);
  }

  /** What it says of its health. */
  async health(of: 'live' | 'ready', index = 0): Promise<string> {
    return (await get(this.ports[index].http, `/v2/health/${of}`)).text;
  }

  /** Resolves when it is ready, which it is while it drives the workers. */
  async isReady(index = 0): Promise<void> {
    await until(async () => (await this.health('ready', index)) === '{"ready":true}');
  }

  /** Resolves when it says that it leaves the workers to another. */
  async standsBy(index: number): Promise<void> {
    await until(async () => (await this.health('ready', index)).includes('stands by'));
  }

  async post(path: string): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.ports[0].http}${path}`, { method: 'POST' })).status;
  }

  /** Resolves when a metric has that value, or so many series have the value 1. */
  async metric(name: string, value: number, index = 0): Promise<void> {
    await until(async () => {
      const { text } = await get(this.ports[index].metrics, '/metrics');
      const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, one]) =>
        Number(one),
      );
      const sum = values.reduce((total, one) => total + one, 0);
      return sum === value;
    });
  }

  /** Lines of a controller's log that contain this. */
  said(what: string | RegExp, index = 0): number {
    return this.controllers[index].log.filter(({ msg }) => msg.search(what) >= 0).length;
  }

  descriptors(index = 0): number {
    return readdirSync(`/proc/${this.controllers[index].pid}/fd`).length;
  }
}
