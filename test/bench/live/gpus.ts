import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { metricSum } from '../../../src/tools/bench/stages.js';
import { freePorts } from '../../free-ports.js';
import { median } from '../child.js';
import { BenchFolder, commandOf, MeasuredProcess } from './processes.js';

export interface GpusOptions {
  readonly gpus: readonly number[];
  readonly models: number;
  readonly policies: readonly string[];
  /** Requests per second: of all GPUs together, and of each. */
  readonly rate: number;
  readonly ratePerGpu: number;
  /** Loads that are measured, after one that is not; and how long each lasts. */
  readonly rounds: number;
  readonly seconds: number;
}

/** One size of cluster under one load; medians over rounds. CPU is that of the controller unless it says otherwise. */
interface GpusPoint {
  readonly policy: string;
  readonly gpus: number;
  readonly models: number;
  readonly rateRps: number;
  readonly okShare: number;
  /** All threads; the one that schedules; those of all workers. */
  readonly cpuUsPerRequest: number;
  readonly schedulerUsPerRequest: number;
  readonly workersUsPerRequest: number;
  readonly stepUsP50: number;
  readonly stepUsP99: number;
  readonly actionsPerRequest: number;
  readonly journalBytesPerRequest: number;
  readonly startSeconds: number;
  /** CPU that the controller takes while nothing is asked, in cores. */
  readonly idleCpuShare: number;
  readonly rssMB: number;
  readonly workersRssMB: number;
  /** What a monitoring system gets, and how long it waits. */
  readonly metrics: Answer;
  readonly status: Answer;
}

interface Answer {
  readonly kB: number;
  readonly ms: number;
}

const WORKERS = 4;
/** Long: a request that a busy machine holds up shall not change what is scheduled. */
const SLO = '2s';
const IDLE_MS = 3000;
const ASKED = 5;

/** A controller and its workers on this machine, with more and more GPUs: first under the same load, then with as much per GPU. */
export async function measureGpus(options: GpusOptions): Promise<readonly GpusPoint[]> {
  const points: GpusPoint[] = [];
  for (const policy of options.policies) {
    const loads = [
      ...options.gpus.map((gpus) => ({ gpus, rate: options.rate })),
      ...options.gpus.map((gpus) => ({ gpus, rate: options.ratePerGpu * gpus })),
    ];
    for (const { gpus, rate } of loads) points.push(await measurePoint(policy, gpus, rate, options));
  }
  return points;
}

async function measurePoint(
  policy: string,
  gpus: number,
  rate: number,
  { models, rounds, seconds }: GpusOptions,
): Promise<GpusPoint> {
  const cluster = await EmulatedCluster.start(gpus, models, policy);
  const { controller, workers, startSeconds } = cluster;
  try {
    const beforeUs = controller.cpuUs.all;
    await setTimeout(IDLE_MS);
    const idleCpuShare = Number(((controller.cpuUs.all - beforeUs) / (1000 * IDLE_MS)).toFixed(3));
    await cluster.load(rate, seconds);
    const done: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = await cluster.read();
      const { requests } = await cluster.load(rate, seconds);
      const after = await cluster.read();
      done.push({ before, after, offered: requests.offered, ok: requests.ok });
    }
    const perRequest = (key: Counter, digits = 0) => {
      const values = done.map(({ before, after, offered }) => (after[key] - before[key]) / offered);
      return Number(median(values).toFixed(digits));
    };
    return {
      ...{ policy, gpus, models, rateRps: rate },
      okShare: Number(median(done.map(({ ok, offered }) => ok / offered)).toFixed(4)),
      cpuUsPerRequest: perRequest('cpuUs'),
      schedulerUsPerRequest: perRequest('schedulerUs'),
      workersUsPerRequest: perRequest('workersUs'),
      stepUsP50: median(done.map((round) => stepUs(round, 0.5))),
      stepUsP99: median(done.map((round) => stepUs(round, 0.99))),
      actionsPerRequest: perRequest('actions', 2),
      journalBytesPerRequest: perRequest('journalBytes'),
      ...{ startSeconds, idleCpuShare },
      rssMB: Math.round(controller.rssBytes / 1e6),
      workersRssMB: Math.round(workers.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / 1e6),
      metrics: await cluster.ask('/metrics'),
      status: await cluster.ask('/status'),
    };
  } finally {
    await cluster.stop();
  }
}

type Counter = 'cpuUs' | 'schedulerUs' | 'workersUs' | 'actions' | 'journalBytes';

/** What has been used up, and has happened, since the start. */
interface Reading extends Readonly<Record<Counter, number>> {
  /** Steps of the scheduler that took at most `le` seconds, by `le` ascending. */
  readonly steps: readonly { readonly le: number; readonly count: number }[];
}

interface Round {
  readonly before: Reading;
  readonly after: Reading;
  readonly offered: number;
  readonly ok: number;
}

/** Upper bound of the bucket that has the quantile, µs: a histogram knows no better. */
function stepUs({ before, after }: Round, quantile: number): number {
  const counts = after.steps.map(({ count }, i) => count - (before.steps[i]?.count ?? 0));
  const bucket = counts.findIndex((count) => count >= quantile * (counts.at(-1) ?? 0));
  return Math.round(1e6 * (after.steps[bucket]?.le ?? 0));
}

/** A controller, and up to four workers with emulated GPUs that take their time. */
class EmulatedCluster {
  private constructor(
    private readonly folder: BenchFolder,
    readonly controller: MeasuredProcess,
    readonly workers: readonly MeasuredProcess[],
    private readonly ports: { readonly http: number; readonly metrics: number },
    private readonly models: number,
    readonly startSeconds: number,
  ) {}

  static async start(gpus: number, models: number, policy: string): Promise<EmulatedCluster> {
    const folder = new BenchFolder();
    const count = Math.min(WORKERS, gpus);
    const [http, metrics, ...ports] = await freePorts(2 + count);
    const beganMs = performance.now();
    const workers = ports.map((port, i) => {
      const own = Math.floor(gpus / count) + (i < gpus % count ? 1 : 0);
      const device = ['--device', folder.device, '--gpus', `${own}`, '--copies', `${models}`];
      const network = ['--port', `${port}`, '--metrics-port', 'off', '--log-level', 'error'];
      return new MeasuredProcess(commandOf(['worker', ...device, '--memory', '2GiB', ...network]));
    });
    const flags = [
      ...['controller', ...ports.flatMap((port) => ['--worker', `127.0.0.1:${port}`])],
      ...['--http-port', `${http}`, '--grpc-port', 'off', '--metrics-port', `${metrics}`],
      ...['--journal', join(folder.path, 'run.journal'), '--log-level', 'error'],
      ...['--set', `slo=${SLO}`, '--set', `policy.kind=${policy}`],
    ];
    const controller = new MeasuredProcess(commandOf(flags));
    const isReady = controller.untilReady(http);
    await isReady.catch(() => {});
    const seconds = Number(((performance.now() - beganMs) / 1000).toFixed(1));
    const cluster = new EmulatedCluster(folder, controller, workers, { http, metrics }, models, seconds);
    await isReady.catch(async (error) => {
      await cluster.stop();
      throw error;
    });
    return cluster;
  }

  load(rate: number, seconds: number) {
    const mix = 'popularity: { kind: zipf, s: 0.9 }';
    const workload = `{ kind: poisson, rate: ${rate}/s, duration: ${seconds}s, slo: ${SLO}, ${mix} }`;
    return this.folder.load(`http://127.0.0.1:${this.ports.http}`, this.models, workload);
  }

  async read(): Promise<Reading> {
    const { path } = this.folder;
    const { all, scheduler } = this.controller.cpuUs;
    const files = readdirSync(path).filter((name) => name.startsWith('run.journal'));
    const text = await (await fetch(`http://127.0.0.1:${this.ports.metrics}/metrics`)).text();
    const buckets = text.matchAll(/^escapement_step_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm);
    return {
      cpuUs: all,
      schedulerUs: scheduler,
      workersUs: this.workers.reduce((sum, { cpuUs }) => sum + cpuUs.all, 0),
      journalBytes: files.reduce((sum, name) => sum + statSync(join(path, name)).size, 0),
      actions: metricSum(text, 'escapement_actions_total'),
      steps: Array.from(buckets, ([, le, count]) => ({
        le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
        count: Number(count),
      })),
    };
  }

  /** Size of an answer of the metrics port, and how long it takes. */
  async ask(path: string): Promise<Answer> {
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
    this.folder.remove();
  }
}
