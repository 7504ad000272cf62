import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compiledNextTo } from '../../base/compiled.js';
import { type ErrorCode, EscapementError } from '../../base/errors.js';
import type { ServerSettings } from '../../config/server-settings.js';
import type { OrtDeviceSpec } from '../../live/device.js';
import type { ModelSignature } from '../../live/model.js';
import type { MachineOptions } from '../../live/worker/local-machine.js';
import type { Usage } from './usage-meter.js';

/** Role of a child process: a server, or a bare device. */
export type Role =
  | { readonly kind: 'server'; readonly gpu: MachineOptions; readonly settings: ServerSettings }
  | {
      readonly kind: 'device';
      readonly device: OrtDeviceSpec;
      readonly models: readonly DeviceModel[];
    };

export interface DeviceModel {
  readonly name: string;
  readonly ortPath: string;
  readonly signature: ModelSignature;
  readonly batchSize: number;
}

export interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
}

export interface DeviceTrial {
  readonly requests: number;
  readonly tookNs: number;
}

/** Orders to a child, which answers each with one message. */
export type Order =
  | { readonly kind: 'start'; readonly role: Role }
  | { readonly kind: 'usage' }
  | { readonly kind: 'trial'; readonly seconds: number };
export type Answer = { readonly value: unknown } | { readonly code: ErrorCode; readonly message: string };

/** Length of a process's last output that is quoted when it dies. */
const MOST_SAID_CHARS = 2000;

/**
 * A child process with one role of a benchmark. It ends on request, and when this process ends. It answers one call at
 * a time. Calls reject with the coded error that the child reports, or like `death` when it dies.
 */
export class BenchChild {
  /** Rejects when the process ends: `E_SERVER` if it was killed, otherwise with its last output. */
  readonly death: Promise<never>;
  ports: Ports = { http: 0, grpc: 0, metrics: 0 };
  private readonly child: ChildProcess;
  private said = '';

  private constructor(private readonly role: Role['kind']) {
    this.child = fork(fileURLToPath(compiledNextTo(import.meta.url, 'child.js')), {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.said = (this.said + text).slice(-MOST_SAID_CHARS);
    });
    const kill = () => this.child.kill('SIGKILL');
    process.on('exit', kill);
    this.death = new Promise((_resolve, reject) => {
      this.child.once('close', (status, signal) => {
        process.off('exit', kill);
        reject(this.endOf(status, signal));
      });
    });
    // Its death is an error only during a call.
    this.death.catch(() => {});
  }

  /** Resolves when it is ready. */
  static async start(role: Role): Promise<BenchChild> {
    const child = new BenchChild(role.kind);
    try {
      child.ports = await child.ask<Ports>({ kind: 'start', role });
      return child;
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  /** Usage since the last call, or since its start. */
  usage(): Promise<Usage> {
    return this.ask({ kind: 'usage' });
  }

  /** Runs the bare device for this long. */
  trial(seconds: number): Promise<DeviceTrial> {
    return this.ask({ kind: 'trial', seconds });
  }

  /** Kills it at once. */
  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.death.catch(() => {});
  }

  private async ask<T>(order: Order): Promise<T> {
    const answered = new Promise<Answer>((resolve) => this.child.once('message', resolve));
    // If the child is dead, `death` reports the error.
    this.child.send(order, () => {});
    const answer = await Promise.race([answered, this.death]);
    if ('code' in answer) throw new EscapementError(answer.code, answer.message);
    return answer.value as T;
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
