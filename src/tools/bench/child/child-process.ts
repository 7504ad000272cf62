import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compiledNextTo } from '../../../base/compiled.js';
import { EscapementError } from '../../../base/errors.js';
import type { Answer, Order, Ports, Role, SyntheticTrial, Usage } from './messages.js';

/** The last output of a process is part of the error when it dies. */
const MOST_SAID_CHARS = 2000;

/**
 * A process that plays one role of a benchmark. It ends on request, and whenever this process ends. One question at a
 * time. Questions reject with the coded error that the child reports, and like `death` when it dies.
 */
export class BenchChild {
  private readonly child: ChildProcess;
  /** Rejects when it has ended: `E_SERVER` where it was killed, otherwise with what it said last. */
  readonly death: Promise<never>;
  private said = '';
  private settle: { resolve(answer: Answer): void; reject(error: Error): void } | null = null;

  private constructor(private readonly role: Role['kind']) {
    this.child = fork(fileURLToPath(compiledNextTo(import.meta.url, 'main.js')), {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.said = (this.said + text).slice(-MOST_SAID_CHARS);
    });
    this.child.on('message', (answer: Answer) => this.take(answer));
    const kill = () => this.child.kill('SIGKILL');
    process.on('exit', kill);
    this.death = new Promise((_resolve, reject) => {
      this.child.once('close', (status, signal) => {
        process.off('exit', kill);
        const end = this.endOf(status, signal);
        this.settle?.reject(end);
        this.settle = null;
        reject(end);
      });
    });
    // While no question is open, its death is not an error.
    this.death.catch(() => {});
  }

  /** Resolves with the child when it is ready, and the ports that it listens on. */
  static async start(role: Role): Promise<{ child: BenchChild; ports: Ports }> {
    const child = new BenchChild(role.kind);
    try {
      const answer = await child.ask({ kind: 'start', role });
      if (answer.kind === 'ready') return { child, ports: answer.ports };
      throw new Error(`the ${role.kind} process answered ${answer.kind}`);
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  /** What it used since it was asked last, or since its start. */
  async usage(): Promise<Usage> {
    const answer = await this.ask({ kind: 'usage' });
    if (answer.kind === 'usage') return answer.usage;
    throw new Error(`the ${this.role} process answered ${answer.kind}`);
  }

  /** Lets a device by itself run for so long. */
  async trial(seconds: number): Promise<SyntheticTrial> {
    const answer = await this.ask({ kind: 'trial', seconds });
    if (answer.kind === 'trial') return answer.trial;
    throw new Error(`the ${this.role} process answered ${answer.kind}`);
  }

  /** Ends it at once: nothing that it does is needed any more. */
  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.death.catch(() => {});
  }

  private ask(order: Order): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.child.send(order, (error) => {
        // If it is dead, the error comes when its end is known.
        if (error !== null && this.child.connected) reject(error);
      });
    });
  }

  private take(answer: Answer): void {
    const { settle } = this;
    this.settle = null;
    if (answer.kind === 'failed') settle?.reject(new EscapementError(answer.code, answer.message));
    else settle?.resolve(answer);
  }

  private endOf(status: number | null, signal: NodeJS.Signals | null): Error {
    const said = this.said.trim() || 'no output';
    if (signal === null) return new Error(`the ${this.role} process ended with status ${status}: ${said}`);
    return new EscapementError(
      'E_SERVER',
      `the ${this.role} process was killed by ${signal}: check whether the machine ran out of memory (${said})`,
    );
  }
}
