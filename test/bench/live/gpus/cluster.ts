import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from '../../child.js';
import { freePorts } from '../hostile/subject.js';
import { profileText } from '../throughput/model.js';
import { MeasuredProcess } from './process.js';
import { metricsReading, type Reading } from './reading.js';

interface ClusterOptions {
  readonly gpus: number;
  readonly models: number;
  readonly policy: string;
}

interface Ports {
  readonly http: number;
  readonly metrics: number;
}

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const WORKERS = 4;
/** Long: a request that a busy machine holds up shall not change what is scheduled. */
const SLO = '2s';
const START_MS = 300_000;
const IDLE_MS = 3000;
const ASKED = 5;

/** A controller, and up to four workers with emulated GPUs that take their time. */
export class EmulatedCluster {
  private constructor(
    private readonly folder: string,
    private readonly controller: MeasuredProcess,
    private readonly workers: readonly MeasuredProcess[],
    private readonly ports: Ports,
    private readonly models: number,
    readonly start: { readonly seconds: number; readonly cpuSeconds: number },
  ) {}

  static async start({ gpus, models, policy }: ClusterOptions): Promise<EmulatedCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'escapement-'));
    const profile = join(folder, 'small.json');
    writeFileSync(profile, profileText());
    const count = Math.min(WORKERS, gpus);
    const [http, metrics, ...ports] = await freePorts(2 + count);
    const beganMs = performance.now();
    const workers = ports.map((port, i) => {
      const own = Math.floor(gpus / count) + (i < gpus % count ? 1 : 0);
      const device = ['--device', `simulated:${profile}`, '--gpus', `${own}`, '--copies', `${models}`];
      const network = ['--port', `${port}`, '--metrics-port', 'off', '--log-level', 'error'];
      return new MeasuredProcess(MAIN, ['worker', ...device, '--memory', '2GiB', ...network]);
    });
    const controller = new MeasuredProcess(MAIN, [
      ...['controller', ...ports.flatMap((port) => ['--worker', `127.0.0.1:${port}`])],
      ...['--http-port', `${http}`, '--grpc-port', 'off', '--metrics-port', `${metrics}`],
      ...['--journal', join(folder, 'run.journal'), '--log-level', 'error'],
      ...['--set', `slo=${SLO}`, '--set', `policy.kind=${policy}`],
    ]);
    const isReady = await untilReady(http, controller);
    const start = {
      seconds: Number(((performance.now() - beganMs) / 1000).toFixed(1)),
      cpuSeconds: isReady ? controller.cpuUs / 1e6 : 0,
    };
    const cluster = new EmulatedCluster(folder, controller, workers, { http, metrics }, models, start);
    if (isReady) return cluster;
    await cluster.stop();
    throw new Error(`a cluster of ${gpus} GPUs did not get ready`);
  }

  /** CPU that the controller takes while nothing is asked, in cores. */
  async idleCpuShare(): Promise<number> {
    const beforeUs = this.controller.cpuUs;
    await setTimeout(IDLE_MS);
    return Number(((this.controller.cpuUs - beforeUs) / (1000 * IDLE_MS)).toFixed(3));
  }

  /** Requests by `escapement load`, in a process of their own. */
  async load(rate: number, seconds: number): Promise<{ readonly offered: number; readonly ok: number }> {
    const experiment = join(this.folder, 'load.yaml');
    writeFileSync(experiment, experimentText(this.models, rate, seconds));
    const url = `http://127.0.0.1:${this.ports.http}`;
    const command = [MAIN, 'load', experiment, '--url', url, '--json', '--quiet'];
    const { stdout } = await promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 26 });
    return JSON.parse(stdout).requests;
  }

  async read(): Promise<Reading> {
    const { controller, workers } = this;
    const files = readdirSync(this.folder).filter((name) => name.startsWith('run.journal'));
    const text = await (await fetch(`http://127.0.0.1:${this.ports.metrics}/metrics`)).text();
    return {
      cpuUs: controller.cpuUs,
      schedulerUs: controller.mainThreadUs,
      workersUs: workers.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
      journalBytes: files.reduce((sum, name) => sum + statSync(join(this.folder, name)).size, 0),
      ...metricsReading(text),
    };
  }

  memory(): { readonly rssMB: number; readonly workersRssMB: number } {
    return {
      rssMB: this.controller.rssMB,
      workersRssMB: this.workers.reduce((sum, { rssMB }) => sum + rssMB, 0),
    };
  }

  /** Size of an answer of the metrics port, and how long it takes. */
  async ask(path: string): Promise<{ readonly kB: number; readonly ms: number }> {
    const tookMs: number[] = [];
    let bytes = 0;
    for (let i = 0; i < ASKED; i++) {
      const beganMs = performance.now();
      bytes = (await (await fetch(`http://127.0.0.1:${this.ports.metrics}${path}`)).arrayBuffer()).byteLength;
      tookMs.push(performance.now() - beganMs);
    }
    return { kB: Math.round(bytes / 1000), ms: Math.round(median(tookMs)) };
  }

  async stop(): Promise<void> {
    await Promise.all([this.controller, ...this.workers].map((each) => each.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function untilReady(http: number, controller: MeasuredProcess): Promise<boolean> {
  const endMs = performance.now() + START_MS;
  while (performance.now() < endMs && controller.isRunning) {
    const ready = await fetch(`http://127.0.0.1:${http}/v2/health/ready`).catch(() => null);
    if (ready?.ok) return true;
    await setTimeout(50);
  }
  return false;
}

function experimentText(models: number, rate: number, seconds: number): string {
  return `seed: 1
models: { kind: profile, path: small.json, copies: ${models} }
workload: { kind: poisson, rate: ${rate}/s, duration: ${seconds}s, popularity: { kind: zipf, s: 0.9 } }
slo: ${SLO}
policy: { kind: fifo }
`;
}
