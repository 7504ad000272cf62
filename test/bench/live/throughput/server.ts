import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../hostile/subject.js';
import { type LoadKind, numbersOf, profileText } from './model.js';

export interface ServerOptions {
  /** Command line of the build. */
  readonly main: string;
  /** CPUs that it may use, as `taskset -c` takes them; empty: all. */
  readonly cpus: string;
  /** Threads per transport; 1: as versions without the flag. */
  readonly frontends: number;
  /** What it is to take. */
  readonly kinds: readonly LoadKind[];
}

/** Linux counts CPU time in these. */
const TICK_MS = 10;

/** A server whose device takes no time: what requests cost is all its own. */
export class QuickServer {
  private constructor(
    private readonly ports: { readonly http: number; readonly grpc: number },
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start({ main, cpus, frontends, kinds }: ServerOptions): Promise<QuickServer> {
    const folder = mkdtempSync(join(tmpdir(), 'escapement-'));
    const profiles = [...new Set(kinds.map(numbersOf))].map((numbers) => {
      const profile = join(folder, `${numbers}.json`);
      writeFileSync(profile, profileText(numbers));
      return profile;
    });
    const [http, grpc] = await freePorts(2);
    const command = [
      ...(cpus === '' ? [] : ['taskset', '-c', cpus]),
      ...[process.execPath, main, 'serve', '--device', `simulated:${profiles}`, '--time-scale', '0'],
      ...['--http-port', `${http}`, '--grpc-port', `${grpc}`, '--metrics-port', 'off'],
      ...['--log-level', 'error'],
      ...['--set', 'slo=20s', '--set', 'policy.kind=fifo'],
      ...(frontends === 1 ? [] : ['--frontends', `${frontends}`]),
    ];
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
    const server = new QuickServer({ http, grpc }, child, folder);
    await server.untilReady();
    return server;
  }

  portFor(kind: LoadKind): number {
    return kind === 'grpc' ? this.ports.grpc : this.ports.http;
  }

  /** CPU time so far: of all its threads, and of the one that schedules, which is the first. */
  cpuMs(): { readonly all: number; readonly scheduling: number } {
    const { pid } = this.child;
    return { all: cpuMsIn(`/proc/${pid}/stat`), scheduling: cpuMsIn(`/proc/${pid}/task/${pid}/stat`) };
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.child;
    if (exitCode === null && signalCode === null) {
      const gone = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async untilReady(): Promise<void> {
    for (let i = 0; i < 600 && this.child.exitCode === null; i++) {
      const ready = await fetch(`http://127.0.0.1:${this.ports.http}/v2/health/ready`).catch(() => null);
      if (ready?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.stop();
    throw new Error('the server did not get ready');
  }
}

function cpuMsIn(file: string): number {
  const afterName = readFileSync(file, 'latin1').split(') ')[1].split(' ');
  return TICK_MS * (Number(afterName[11]) + Number(afterName[12]));
}
