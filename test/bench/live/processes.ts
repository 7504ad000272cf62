import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Summary } from '../../../src/record/results.js';
import { madeUpProfile } from '../../made-up-profile.js';

/** The command line of this checkout. */
export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Linux counts CPU time in these. */
const TICK_US = 10_000;
const START_MS = 300_000;
/** Of a model whose batches cost next to nothing; a server with `--time-scale 0` takes no time for it at all. */
const BATCHES = [1, 2, 4, 8, 16].map((batch) => ({ batch, medianMs: 1 + 0.1 * batch }));

/** Runs the command line of some build. */
export function commandOf(args: readonly string[], main = MAIN): string[] {
  return [process.execPath, main, ...args];
}

/** A process, and what it uses. */
export class MeasuredProcess {
  readonly child: ChildProcess;

  constructor(
    [command = '', ...args]: readonly string[],
    options: SpawnOptions = { stdio: ['ignore', 'ignore', 'inherit'] },
  ) {
    this.child = spawn(command, args, options);
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** CPU time so far: of all threads, and of the first, which schedules in a server. */
  get cpuUs(): { readonly all: number; readonly scheduler: number } {
    const { pid } = this.child;
    return { all: cpuUsOf(`/proc/${pid}/stat`), scheduler: cpuUsOf(`/proc/${pid}/task/${pid}/stat`) };
  }

  /** Zero once it is gone. */
  get rssBytes(): number {
    if (!this.isRunning) return 0;
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'latin1');
    return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  }

  /** Resolves when the server answers that it is ready; throws when it ends or takes too long. */
  async untilReady(httpPort: number): Promise<void> {
    const endMs = performance.now() + START_MS;
    while (performance.now() < endMs && this.isRunning) {
      const ready = await fetch(`http://127.0.0.1:${httpPort}/v2/health/ready`).catch(() => null);
      if (ready?.ok) return;
      await setTimeout(50);
    }
    throw new Error('the server did not get ready');
  }

  /** Kills it: what it would say and save at its end is of no interest. */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }
}

function cpuUsOf(path: string): number {
  const afterName = readFileSync(path, 'latin1').split(') ')[1].split(' ');
  return TICK_US * (Number(afterName[11]) + Number(afterName[12]));
}

/** A folder with the profile of a model, for servers and loads. */
export class BenchFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'escapement-'));
  readonly device = `simulated:${join(this.path, 'small.json')}`;

  constructor(inputBytes = 256) {
    const profile = madeUpProfile({ inputBytes, outputBytes: 256, batches: BATCHES });
    writeFileSync(join(this.path, 'small.json'), JSON.stringify(profile));
  }

  /** Requests to copies of the model by `escapement load`, in a process of their own. */
  async load(url: string, copies: number, workload: string, flags: readonly string[] = []): Promise<Summary> {
    const file = join(this.path, 'load.yaml');
    const models = `{ kind: profile, path: small.json, copies: ${copies} }`;
    writeFileSync(file, `models: ${models}\nworkload: ${workload}\nslo: 20s\npolicy: { kind: fifo }\n`);
    const command = [MAIN, 'load', file, '--url', url, '--json', '--quiet', ...flags];
    const { stdout } = await promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 26 });
    return JSON.parse(stdout);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
