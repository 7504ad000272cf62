import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** Linux counts CPU time in these. */
const TICK_US = 10_000;

/** A process of the command line, and what it uses. */
export class MeasuredProcess {
  private readonly child: ChildProcess;

  constructor(main: string, args: readonly string[]) {
    this.child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** CPU time of all its threads so far. */
  get cpuUs(): number {
    return cpuUsOf(`/proc/${this.child.pid}/stat`);
  }

  /** That of its main thread, which schedules in a controller. */
  get mainThreadUs(): number {
    return cpuUsOf(`/proc/${this.child.pid}/task/${this.child.pid}/stat`);
  }

  get rssMB(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'latin1');
    return Math.round((1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1])) / 1e6);
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
