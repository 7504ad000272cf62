import { join } from 'node:path';
import { parseExperiment } from '../../src/config/load.js';
import type { RunObserver } from '../../src/core/observer.js';
import { OUTCOME_OK } from '../../src/core/request.js';
import { simulate } from '../../src/run/simulated.js';
import { tempDir, writeIn } from '../cli/run-cli.js';
import { madeUpProfile } from '../made-up-profile.js';

/** Mean duration of an INFER, of any batch size. */
export const SERVICE_MS = 10;
const SEEDS = 20;
const WARMUP_S = 20;
/** Moments at which requests that wait are counted. */
const LOOK_MS = 1;
const MS = 1e6;

export interface Station {
  readonly servers: number;
  /** Arrival rate × mean service time, in Erlang. */
  readonly load: number;
  readonly durations: 'constant' | 'exponential';
  /** Default: 1. */
  readonly maxBatch?: number;
  /** A request that cannot start at once is lost. Default: false, it waits. */
  readonly loses?: boolean;
  /** Of each run, after the warm-up. */
  readonly seconds: number;
}

/** What one run showed. Times in ms. */
export interface Observed {
  readonly meanWaitMs: number;
  readonly meanResponseMs: number;
  readonly p50ResponseMs: number;
  readonly p99ResponseMs: number;
  /** Share of the requests that waited at all. */
  readonly waited: number;
  readonly lost: number;
  /** Share of the moments, by how many requests were there. */
  readonly present: readonly number[];
}

/** Simulates the station as anyone would, by an experiment file, with one seed after the other. */
export async function observe(station: Station): Promise<Observed[]> {
  const file = join(tempDir(), 'station.yaml');
  writeIn(join(file, '..'), 'server.json', profile(station.maxBatch ?? 1));
  const runs: Observed[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const seen = new Seen();
    const text = experiment(station, seed);
    const { summary } = await simulate(await parseExperiment(text, file), { observer: seen });
    runs.push(seen.observed(summary.requests.offered));
  }
  return runs;
}

/**
 * Mean time, ms, that requests need for a chain of stations with one server each and exponential durations: a value per
 * seed.
 */
export async function observeChain(stations: number, load: number, seconds: number): Promise<number[]> {
  const dir = tempDir();
  writeIn(dir, 'server.json', profile(1));
  const all = Array.from({ length: stations }, (_, i) => `station-${i}`);
  const steps = all.map((name, i) => `{ model: ${name}${i === 0 ? '' : `, after: ${all[i - 1]}`} }`);
  const means: number[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const text = `
${experiment({ servers: stations, load, durations: 'exponential', seconds }, seed)
  .replace(
    /^models: .*$/m,
    `models: [${all.map((name) => `{ kind: profile, path: server.json, name: ${name} }`)}]`,
  )
  .replace('cluster:', 'cluster:\n  pages: 1')}
pipelines: { name: chain, split: equal, steps: [${steps}] }
`;
    const { summary } = await simulate(await parseExperiment(text, join(dir, 'chain.yaml')));
    means.push(summary.executedLatencyMs.mean as number);
  }
  return means;
}

function experiment(
  { servers, load, durations, maxBatch = 1, loses = false, seconds }: Station,
  seed: number,
) {
  return `
seed: ${seed}
cluster:
  gpus: ${servers}
  network: { delay: 0ms }
  noise: { distribution: ${durations === 'constant' ? 'normal' : durations} }
models: { kind: profile, path: server.json }
workload: { kind: poisson, rate: ${(1000 * load) / SERVICE_MS}/s, duration: ${seconds + WARMUP_S}s }
warmup: ${WARMUP_S}s
slo: ${loses ? `${SERVICE_MS + 0.001}ms` : '1h'}
admission: none
policy: ${loses ? '{ kind: edf, maxBatch: 1 }' : `{ kind: fifo, maxDelay: 0ms, maxBatch: ${maxBatch} }`}
`;
}

function profile(maxBatch: number): string {
  const batches = Array.from({ length: maxBatch }, (_, i) => ({ batch: i + 1, medianMs: SERVICE_MS }));
  return JSON.stringify(
    madeUpProfile({ name: 'server', weightsBytes: 1000, inputBytes: 0, outputBytes: 0, batches }),
  );
}

/** Sums up what the requests after the warm-up met, from nothing but their arrival, begin and answer. */
class Seen implements RunObserver {
  private readonly waitsMs: number[] = [];
  private readonly responsesMs: number[] = [];
  /** Changes of the number of requests present between two looks. */
  private readonly changes: number[] = [];

  answered: RunObserver['answered'] = (requests, slot, outcome, nowNs, _copies, action) => {
    const arrivalNs = requests.arrivalNs[slot]!;
    const looks = [arrivalNs, nowNs].map((ns) => Math.ceil(ns / (LOOK_MS * MS)));
    this.changes[looks[0]!] = (this.changes[looks[0]!] ?? 0) + 1;
    this.changes[looks[1]!] = (this.changes[looks[1]!] ?? 0) - 1;
    if (arrivalNs < WARMUP_S * 1000 * MS || outcome !== OUTCOME_OK || action === null) return;
    this.waitsMs.push((action.beginNs - arrivalNs) / MS);
    this.responsesMs.push((nowNs - arrivalNs) / MS);
  };

  completed(): void {}

  /** `offered` requests came after the warm-up. */
  observed(offered: number): Observed {
    const { waitsMs } = this;
    const responsesMs = Float64Array.from(this.responsesMs).sort();
    const served = responsesMs.length;
    return {
      meanWaitMs: mean(waitsMs),
      meanResponseMs: mean(this.responsesMs),
      p50ResponseMs: responsesMs[Math.ceil(0.5 * served) - 1]!,
      p99ResponseMs: responsesMs[Math.ceil(0.99 * served) - 1]!,
      waited: waitsMs.filter((ms) => ms > 0).length / served,
      lost: (offered - served) / offered,
      present: this.present(),
    };
  }

  private present(): number[] {
    const counts: number[] = [];
    let now = 0;
    for (const [look, change = 0] of this.changes.entries()) {
      now += change;
      if (look * LOOK_MS >= WARMUP_S * 1000) counts[now] = (counts[now] ?? 0) + 1;
    }
    const looks = counts.reduce((sum, count = 0) => sum + count, 0);
    return Array.from(counts, (count = 0) => count / looks);
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
