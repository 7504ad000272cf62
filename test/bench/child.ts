import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseExperiment } from '../../src/config/load.js';
import { peakRssBytes } from '../../src/run/run.js';
import { simulate } from '../../src/run/simulated.js';
import { benchCases, growthCases } from './cases.js';

const EXPERIMENTS = fileURLToPath(new URL('../../experiments/', import.meta.url));
const MAIN = fileURLToPath(new URL('main.js', import.meta.url));

/** What one run took. */
export interface Run {
  readonly requests: number;
  readonly seconds: number;
  readonly processedRps: number;
  /** Arrivals, and actions that got a result. */
  readonly events: number;
  /** CPU of all threads of the process during the run, the collector included. */
  readonly cpuSeconds: number;
  readonly peakRssBytes: number;
  readonly digest: string;
  /** Share of the requests that were answered in time; null: there were none. */
  readonly attainment: number | null;
}

/** Which run: a case by name, with overrides of its experiment. */
export interface RunChoice {
  readonly name: string;
  readonly trace: string | undefined;
  readonly overrides: readonly string[];
}

/** Runs a case in a process of its own, so that its peak memory is its own and nothing is warm from the run before. */
export function runInChild({ name, trace, overrides }: RunChoice): Run {
  const traceFlag = trace === undefined ? [] : ['--trace', trace];
  const args = [MAIN, '--child', '--only', name, ...traceFlag, ...overrides.flatMap((one) => ['--set', one])];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`benchmark ${name} ${overrides.join(' ')} failed:\n${stderr}`);
  return JSON.parse(stdout);
}

/** Runs a case in this process. */
export async function runHere({ name, trace, overrides }: RunChoice): Promise<Run> {
  const found = [...benchCases(trace), ...growthCases()].find((one) => one.name === name);
  if (found === undefined) throw new Error(`no benchmark is called ${name}`);
  const experiment = await parseExperiment(found.experiment, `${EXPERIMENTS}bench.yaml`, [
    ...found.overrides,
    ...overrides,
  ]);
  const begin = process.cpuUsage();
  const { wall, requests, actions, digest, attainment } = (await simulate(experiment)).summary;
  const { user, system } = process.cpuUsage(begin);
  const memory = { peakRssBytes: peakRssBytes() };
  return {
    ...wall,
    ...memory,
    cpuSeconds: (user + system) / 1e6,
    requests: requests.offered,
    events: requests.offered + actions.infer + actions.load + actions.unload,
    digest,
    attainment,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
