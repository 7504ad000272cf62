import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Summary } from '../../metrics/results.js';

/** Requests per second through a door, scheduler and simulated devices behind it, the load generator beside it. */
export interface FrontDoor {
  readonly requestsPerS: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly failed: number;
}

export type DoorKind = 'http' | 'grpc';

const CLI = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

const PROFILE = {
  name: 'tiny',
  gpu: 'none',
  runtime: 'none',
  precision: 'FP32',
  weightsBytes: 1_000_000,
  loadMs: 1,
  inputBytes: 64,
  outputBytes: 64,
  batches: [1, 2, 4, 8].map((batch) => ({ batch, medianMs: 1 })),
  source: { weights: 'made up', load: 'made up', copies: 'made up', batches: 'made up' },
};

/** Closed-loop clients against a server whose devices take no time: what is measured is everything else. */
export async function measureFrontDoor(kind: DoorKind, clients: number, seconds: number): Promise<FrontDoor> {
  const dir = mkdtempSync(join(tmpdir(), 'escapement-bench-'));
  let server: ChildProcess | null = null;
  try {
    const profile = join(dir, 'tiny.json');
    writeFileSync(profile, JSON.stringify(PROFILE));
    const experiment = join(dir, 'load.yaml');
    writeFileSync(experiment, loadExperiment(clients, seconds));
    const flags = ['--device', `simulated:${profile}`, '--copies', '4', '--gpus', '4', '--time-scale', '0'];
    const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', 'off', '--set', 'slo=1s'];
    server = spawn(process.execPath, [CLI, 'serve', ...flags, ...ports], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const port = await readyPort(server, kind);
    const load = ['load', experiment, '--url', `${kind}://127.0.0.1:${port}`, '--json', '--quiet'];
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...load], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`the load generator failed:\n${stderr}`);
    const { requests, durationSeconds, latencyMs } = JSON.parse(stdout) as Summary;
    return {
      requestsPerS: requests.ok / durationSeconds,
      p50Ms: latencyMs.p50,
      p99Ms: latencyMs.p99,
      failed: requests.offered - requests.ok,
    };
  } finally {
    await ended(server);
    rmSync(dir, { recursive: true });
  }
}

function loadExperiment(clients: number, seconds: number): string {
  return `models: { kind: profile, path: tiny.json, copies: 4 }
workload: { kind: closed-loop, clients: ${clients}, duration: ${seconds + 1}s }
slo: 1s
warmup: 1s
`;
}

/** The port that the server's log tells when it is ready. */
function readyPort(server: ChildProcess, kind: DoorKind): Promise<number> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    server.once('exit', () => reject(new Error(`the server ended:\n${said.join('\n')}`)));
    createInterface({ input: server.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      said.push(line);
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line)[kind]);
    });
  });
}

async function ended(server: ChildProcess | null): Promise<void> {
  if (server === null || server.exitCode !== null) return;
  const exit = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  await exit;
}
