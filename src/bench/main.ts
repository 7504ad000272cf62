import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseExperiment } from '../experiment/load.js';
import { simulate } from '../experiment/simulate.js';
import { benchCases } from './cases.js';

/*
 * Whole runs, arrivals and metrics included, on one thread: `npm run bench -- [--only TEXT] [--runs N]
 * [--trace FILE]`. Prints a JSON line a case. Every run has a process of its own, so that its peak memory is
 * its own and nothing is warm from the run before.
 */

const EXPERIMENTS = fileURLToPath(new URL('../../experiments/', import.meta.url));

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '3' },
    trace: { type: 'string' },
    child: { type: 'boolean', default: false },
  },
});
const trace = flags.trace === undefined ? undefined : resolve(flags.trace);

if (flags.child) await runOne(flags.only);
else runAll();

function runAll(): void {
  for (const { name, aim } of benchCases(trace)) {
    if (!name.includes(flags.only)) continue;
    const runs = Array.from({ length: Number(flags.runs) }, () => inChild(name));
    const rates = runs.map((run) => run.requestsPerSecond);
    const line = {
      case: name,
      runs: runs.length,
      requests: runs[0].requests,
      requestsPerSecond: { median: Math.round(median(rates)), min: Math.round(Math.min(...rates)), aim },
      wallSeconds: median(runs.map((run) => run.seconds)),
      peakRssMB: Math.round(Math.max(...runs.map((run) => run.peakRssBytes)) / 1e6),
      digest: runs[0].digest,
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}

interface Run {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  readonly peakRssBytes: number;
  readonly digest: string;
}

function inChild(name: string): Run {
  const traceFlag = trace === undefined ? [] : ['--trace', trace];
  const args = [fileURLToPath(import.meta.url), '--child', '--only', name, ...traceFlag];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`benchmark ${name} failed:\n${stderr}`);
  return JSON.parse(stdout);
}

async function runOne(name: string): Promise<void> {
  const found = benchCases(trace).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no benchmark is called ${name}`);
  const { summary } = await simulate(await parseExperiment(found.experiment, `${EXPERIMENTS}bench.yaml`, []));
  const { wall, requests, digest } = summary;
  process.stdout.write(JSON.stringify({ ...wall, requests: requests.offered, digest }));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
