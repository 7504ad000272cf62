import { get, ServerProcess, tinyProfile, until } from '../../cli/server-process.js';
import { CountingClients } from './counting-clients.js';
import { FaultProxy } from './fault-proxy.js';

const MODELS = ['tiny-0', 'tiny-1', 'tiny-2'];
const CLIENTS = 8;

/** A controller and its workers, each a process, with a link that can go bad between them. */
export class Rig {
  readonly workers: ServerProcess[] = [];
  readonly links: FaultProxy[] = [];
  controller: ServerProcess | null = null;
  private readonly profile = tinyProfile();
  private readonly ports: number[] = [];
  private http = 0;
  private metrics = 0;

  constructor(private readonly settings: readonly string[] = []) {}

  async start(workers: number): Promise<this> {
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
    this.controller = new ServerProcess([
      'controller',
      ...this.links.flatMap(({ port }) => ['--worker', `127.0.0.1:${port}`]),
      ...['--http-port', String(this.http), '--grpc-port', 'off', '--metrics-port', String(this.metrics)],
      ...this.settings.flatMap((setting) => ['--set', setting]),
    ]);
    const { http, metrics } = await this.controller.ready();
    this.http = http as number;
    this.metrics = metrics as number;
  }

  clients(sloMs: number): CountingClients {
    return new CountingClients(() => this.http, MODELS, CLIENTS, sloMs);
  }

  /** Starts the worker again that has ended. */
  async restart(index: number): Promise<void> {
    this.workers[index] = this.newWorker(this.ports[index]);
    await this.workers[index].ready();
  }

  isUp = async (index: number): Promise<boolean> => {
    const { text } = await get(this.metrics, '/metrics');
    return text.includes(`escapement_worker_up{worker="127.0.0.1:${this.links[index].port}"} 1`);
  };

  async allUp(): Promise<void> {
    for (const index of this.links.keys()) await until(() => this.isUp(index));
  }

  async isDown(index: number): Promise<void> {
    await until(async () => !(await this.isUp(index)));
  }

  private newWorker(port: number): ServerProcess {
    const device = ['--device', `simulated:${this.profile}`, '--copies', String(MODELS.length)];
    return new ServerProcess(['worker', ...device, '--port', String(port), '--metrics-port', 'off']);
  }
}
