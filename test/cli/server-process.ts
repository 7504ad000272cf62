import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { madeUpProfile } from '../made-up-profile.js';
import { MAIN, ROOT, tempDir, writeIn } from './run-cli.js';

/** What a server says when it is ready: on which ports. */
export interface Ready {
  readonly http?: number;
  readonly grpc?: number;
  readonly metrics?: number;
  /** A worker's, for its controller. */
  readonly port?: number;
}

export interface ServerProcessOptions {
  /** On top of the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** It can be sent messages. */
  readonly hears?: boolean;
}

/** A command that runs until it is stopped, at the latest when the test ends. */
export class ServerProcess {
  stderr = '';
  stdout = '';
  private readonly child: ChildProcess;
  private readonly exited: Promise<number | null>;
  private changed: () => void = () => {};

  constructor(args: readonly string[], { env = {}, hears = false }: ServerProcessOptions = {}) {
    this.child = spawn(process.execPath, [MAIN, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...(hears ? (['ipc'] as const) : [])],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.changed();
    });
    this.exited = new Promise((resolve) => this.child.on('close', resolve));
    onTestFinished(() => this.kill('SIGKILL').then(() => {}));
  }

  /** Resolves with the facts of the line "ready"; rejects if it ends without one. */
  async ready(): Promise<Ready> {
    let ended = false;
    void this.exited.then(() => {
      ended = true;
      this.changed();
    });
    for (;;) {
      const line = this.log.find(({ msg }) => msg === 'ready');
      if (line !== undefined) return line;
      if (ended) throw new Error(`ended before it was ready: ${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.changed = resolve;
      });
    }
  }

  /** The lines of its log. */
  get log(): ({ readonly msg: string } & Ready)[] {
    const whole = this.stderr.slice(0, this.stderr.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** What it prints is not read any more. */
  closeOutput(): void {
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
  }

  send(message: object): void {
    this.child.send(message);
  }

  /** For signals that do not end it. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves with its exit status, null where a signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.hasEnded) this.child.kill(signal);
    return this.exited;
  }
}

/** A profile of a small, quick model, `tiny` unless it is named, with an input of two numbers. */
export function tinyProfile(name = 'tiny'): string {
  const batches = [1, 2, 4].map((batch, i) => ({ batch, medianMs: 2 + i }));
  return writeIn(tempDir(), 'tiny.json', JSON.stringify(madeUpProfile({ name, batches })));
}

/** Sends one request; resolves with the status of the answer. */
export async function infer(port: number | undefined, model: string): Promise<number> {
  const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }];
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs }),
  });
  await response.arrayBuffer();
  return response.status;
}

export async function get(port: number | undefined, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

/** Resolves when it is so; a test that waits in vain ends by its own time limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}
