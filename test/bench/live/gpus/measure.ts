import { median } from '../../child.js';
import { EmulatedCluster } from './cluster.js';
import { delta, type Reading, stepUs } from './reading.js';

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
  readonly start: { readonly seconds: number; readonly cpuSeconds: number };
  readonly idleCpuShare: number;
  readonly rssMB: number;
  readonly workersRssMB: number;
  readonly metrics: Answer;
  readonly status: Answer;
}

/** What a monitoring system gets, and how long it waits. */
interface Answer {
  readonly kB: number;
  readonly ms: number;
}

/** A controller and its workers on this machine, with more and more GPUs: first under the same load, then with as much per GPU. */
export async function measureGpus(options: GpusOptions): Promise<readonly GpusPoint[]> {
  const points: GpusPoint[] = [];
  for (const policy of options.policies) {
    const loads = [
      ...options.gpus.map((gpus) => ({ gpus, rate: options.rate })),
      ...options.gpus.map((gpus) => ({ gpus, rate: options.ratePerGpu * gpus })),
    ];
    for (const { gpus, rate } of loads) {
      const point = await measurePoint(policy, gpus, rate, options);
      process.stderr.write(
        `${policy}, ${gpus} GPUs, ${rate} requests/s: ${point.cpuUsPerRequest} µs per request\n`,
      );
      points.push(point);
    }
  }
  return points;
}

async function measurePoint(
  policy: string,
  gpus: number,
  rate: number,
  { models, rounds, seconds }: GpusOptions,
): Promise<GpusPoint> {
  const cluster = await EmulatedCluster.start({ gpus, models, policy });
  try {
    const start = cluster.start;
    const idleCpuShare = await cluster.idleCpuShare();
    await cluster.load(rate, seconds);
    const done: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = await cluster.read();
      const { offered, ok } = await cluster.load(rate, seconds);
      done.push({ ...delta(before, await cluster.read()), offered, ok });
    }
    const of = (value: (round: Round) => number) => median(done.map(value));
    const perRequest = (value: (round: Round) => number, digits = 0) =>
      rounded(
        of((round) => value(round) / round.offered),
        digits,
      );
    return {
      ...{ policy, gpus, models, rateRps: rate },
      okShare: rounded(
        of(({ ok, offered }) => ok / offered),
        4,
      ),
      cpuUsPerRequest: perRequest(({ cpuUs }) => cpuUs),
      schedulerUsPerRequest: perRequest(({ schedulerUs }) => schedulerUs),
      workersUsPerRequest: perRequest(({ workersUs }) => workersUs),
      stepUsP50: of((round) => stepUs(round.steps, 0.5)),
      stepUsP99: of((round) => stepUs(round.steps, 0.99)),
      actionsPerRequest: perRequest(({ actions }) => actions, 2),
      journalBytesPerRequest: perRequest(({ journalBytes }) => journalBytes),
      ...{ start, idleCpuShare },
      ...cluster.memory(),
      metrics: await cluster.ask('/metrics'),
      status: await cluster.ask('/status'),
    };
  } finally {
    await cluster.stop();
  }
}

interface Round extends Reading {
  readonly offered: number;
  readonly ok: number;
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
