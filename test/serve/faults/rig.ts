import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { tempDir, writeIn } from '../../cli/run-cli.js';
import { get, ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { CountingClients } from './clients/counting-clients.js';
import { GrpcAsker, StreamAsker } from './clients/grpc-asker.js';
import { HttpAsker } from './clients/http-asker.js';
import type { Subject } from './clients/tally.js';
import { FaultProxy } from './fault-proxy.js';
import type { Identity } from './identities.js';

export const COPIES = 3;
const HTTP_CLIENTS = 3;
const GRPC_CLIENTS = 2;
/** They share one stream. */
const STREAM_CLIENTS = 3;
/** Lines of the log are held back for a minute at most. */
const LONGEST_WAIT_MS = 120_000;
export const TOKEN = 'what opens the workers';

/** What a simulated device makes of anything. */
export const SIMULATED: readonly Subject[] = Array.from({ length: COPIES }, (_, i) => ({
  name: `tiny-${i}`,
  width: 2,
  right: () => [0],
}));

export interface RigOptions {
  /** Of the controller. */
  readonly settings?: readonly string[];
  readonly controllerArgs?: readonly string[];
  /** Of each worker; default: simulated models. */
  readonly device?: readonly string[];
  readonly subjects?: readonly Subject[];
  readonly workers?: number;
  /** Of links; the authority is the first one. */
  readonly linkTls?: Identity;
  readonly clientTls?: Identity;
  /** False: its journal does not survive. */
  readonly keepsFiles?: boolean;
  /** Default: a temporary one. */
  readonly journalDir?: string;
}

/** A controller and its workers, each a process, with a link that can go bad between them. */
export class Rig {
  readonly workers: ServerProcess[] = [];
  readonly links: FaultProxy[] = [];
  /** The first one goes on taking requests through whatever happens to the others. */
  controller: ServerProcess | null = null;
  /** How often a controller was started. */
  starts = 0;
  readonly journal: string;
  http = 0;
  private grpc = 0;
  private metrics = 0;
  private readonly ports: number[] = [];
  private readonly token = writeIn(tempDir(), 'token', TOKEN);
  readonly device: readonly string[];

  constructor(private readonly options: RigOptions = {}) {
    this.journal = `${options.journalDir ?? tempDir()}/run.journal`;
    this.device = options.device ?? ['--device', `simulated:${tinyProfile()}`, '--copies', String(COPIES)];
  }

  async start(): Promise<this> {
    const { workers = 2 } = this.options;
    for (let i = 0; i < workers; i++) this.workers.push(this.newWorker(0));
    for (const worker of this.workers) {
      const port = (await worker.ready()).port as number;
      this.ports.push(port);
      this.links.push(await new FaultProxy(port).listen());
    }
    await this.startController();
    return this;
  }

  /** On the ports that it had before, if there were any. */
  async startController(): Promise<void> {
    this.controller = this.newController([this.http, this.grpc, this.metrics], this.journal);
    this.starts++;
    const { http, grpc, metrics } = await this.controller.ready();
    this.http = http as number;
    this.grpc = grpc as number;
    this.metrics = metrics as number;
  }

  /** Another one, for the same workers. */
  newController(ports: readonly number[] = [0, 0, 0], journal: string | null = null): ServerProcess {
    const { settings = [], controllerArgs = [], linkTls, clientTls } = this.options;
    const [http, grpc, metrics] = ports;
    const args = [
      ...this.links.flatMap((link) => ['--worker', this.nameOf(link)]),
      ...['--http-port', http, '--grpc-port', grpc, '--metrics-port', metrics].map(String),
      ...['--worker-token-file', this.token],
      ...(linkTls === undefined ? [] : ['--worker-ca', linkTls.cert]),
      ...(clientTls === undefined ? [] : ['--tls-cert', clientTls.cert, '--tls-key', clientTls.key]),
      ...(journal === null ? [] : ['--journal', journal]),
      ...settings.flatMap((setting) => ['--set', setting]),
      ...controllerArgs,
    ];
    return faultyProcess(['controller', ...args]);
  }

  clients(sloMs: number): CountingClients {
    const { subjects = SIMULATED, clientTls } = this.options;
    const ca = clientTls === undefined ? null : clientTls.certificate;
    const http = { port: () => this.http, ca };
    const grpc = { port: () => this.grpc, ca };
    const clients = new CountingClients(
      (doubled) => {
        const stream = new StreamAsker(grpc, doubled);
        return [
          ...Array.from({ length: HTTP_CLIENTS }, () => new HttpAsker(http, doubled)),
          ...Array.from({ length: GRPC_CLIENTS }, () => new GrpcAsker(grpc, doubled)),
          ...Array.from({ length: STREAM_CLIENTS }, () => stream),
        ];
      },
      subjects,
      sloMs,
    );
    onTestFinished(() => void clients.stop());
    return clients;
  }

  /** Starts the worker again that has ended, as it was or with other flags. */
  async restart(index: number, changes: WorkerChanges = {}): Promise<void> {
    this.workers[index] = this.newWorker(changes.elsewhere === true ? 0 : this.ports[index], changes);
    const { port } = await this.workers[index].ready();
    this.ports[index] = port as number;
    this.links[index].target = port as number;
  }

  isUp = async (index: number): Promise<boolean> => {
    const text = await this.readMetrics();
    return text.includes(`escapement_worker_up{worker="${this.nameOf(this.links[index])}"} 1`);
  };

  /** Each worker is up, and both frontends listen: one that failed from inside takes a moment to come back. */
  async allUp(): Promise<void> {
    for (const index of this.links.keys()) await until(() => this.isUp(index));
    for (const port of [this.http, this.grpc]) await until(() => listens(port));
  }

  /** Resolves when the controller's log has a line that says it, after `from` letters; rejects if none comes. */
  async says(pattern: RegExp, from = 0): Promise<void> {
    const endMs = performance.now() + LONGEST_WAIT_MS;
    await until(() => {
      const log = this.controller?.stderr.slice(from) ?? '';
      if (performance.now() > endMs) throw new Error(`the log does not say ${pattern}: ${log}`);
      return pattern.test(log);
    });
  }

  /** Certificates are for names, not for addresses. */
  private nameOf({ port }: FaultProxy): string {
    return `${this.options.linkTls === undefined ? '127.0.0.1' : 'localhost'}:${port}`;
  }

  private async readMetrics(): Promise<string> {
    const { clientTls } = this.options;
    if (clientTls === undefined) return (await get(this.metrics, '/metrics')).text;
    const { getEncrypted } = await import('./identities.js');
    return getEncrypted(this.metrics, '/metrics', clientTls);
  }

  private newWorker(
    port: number,
    { device = this.device, tls = this.options.linkTls, token = TOKEN }: WorkerChanges = {},
  ): ServerProcess {
    const args = [
      ...device,
      ...['--port', String(port), '--metrics-port', 'off', '--token-file'],
      token === TOKEN ? this.token : writeIn(tempDir(), 'token', token),
      ...(tls === undefined || tls === null ? [] : ['--tls-cert', tls.cert, '--tls-key', tls.key]),
    ];
    return faultyProcess(['worker', ...args]);
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

export interface WorkerChanges {
  readonly device?: readonly string[];
  /** Null: no encryption. */
  readonly tls?: Identity | null;
  readonly token?: string;
  /** At another port. */
  readonly elsewhere?: boolean;
}

/** A process in which faults can be made from inside. */
export function faultyProcess(args: readonly string[]): ServerProcess {
  const inside = fileURLToPath(new URL('inside.mjs', import.meta.url));
  const env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${inside}` };
  return new ServerProcess(args, { env, hears: true });
}
