import './environment.js';
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { compiledNextTo } from '../../base/compiled.js';
import { EscapementError } from '../../base/errors.js';
import { NS_PER_MS } from '../../base/units.js';
import { Turns } from '../turns.js';
import { runtimeLimitMs } from './runtime-limit.js';
import { problemError, type RuntimeProblem } from './runtime-problem.js';

/** Receives progress from 0 to 1, and the next step. */
export type OnProgress = (share: number, next: string) => void;

/** Jobs of onnxruntime on a model before it is served, with verbs for people. */
const JOBS = {
  describe: 'read',
  optimize: 'optimize',
  measure: 'run',
  checkBatches: 'run',
} as const;
export type RuntimeJob = keyof typeof JOBS;

/** Task sent to the process. */
export interface RuntimeTask {
  readonly job: RuntimeJob;
  readonly task: unknown;
  /** Maximum interval between signs of life, unless onnxruntime does not return. */
  readonly aliveMs: number;
}

/** Reports of the process. The task starts with the first `alive`, and is over with `done` or `failed`. */
export type RuntimeReport =
  | { readonly kind: 'alive' }
  | { readonly kind: 'progress'; readonly share: number; readonly next: string }
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly problem: RuntimeProblem };

/**
 * Has onnxruntime work on a model in another process, one task of this thread at a time. A model may keep it busy for
 * ever, exhaust memory or crash it, so a process that does not return from one call within the limit of
 * `limitRuntimeCalls`, not counting time in which others have its CPU, is killed. Rejects with the coded error of the
 * process, and with `E_MODEL_FILE` if it ends.
 */
export function callRuntime<T>(
  job: RuntimeJob,
  task: unknown,
  onProgress: OnProgress = () => {},
): Promise<T> {
  return shared.call(job, task, onProgress) as Promise<T>;
}

/** The limit of `limitRuntimeCalls` was exceeded. */
export class TooLong extends EscapementError {}

/** Kills this thread's calls in progress: they reject, and so do later ones. */
export function endRuntimeCalls(): void {
  shared.close();
}

/** Idle time after which the process exits to free its memory. */
const IDLE_MS = 1000;
/** Number of signs of life within the limit. */
const SIGNS = 4;

/** A task in progress. */
interface Call {
  readonly job: RuntimeJob;
  readonly watch: RuntimeWatch;
  readonly onProgress: OnProgress;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

class RuntimeProcess {
  private child: ChildProcess | null = null;
  private readonly turns = new Turns<RuntimeProcess>();
  private idle: NodeJS.Timeout | null = null;
  private current: Call | null = null;
  private isClosed = false;

  call(job: RuntimeJob, task: unknown, onProgress: OnProgress): Promise<unknown> {
    return this.turns.take(this, () => this.run(job, task, onProgress));
  }

  close(): void {
    this.isClosed = true;
    this.kill();
  }

  private run(job: RuntimeJob, task: unknown, onProgress: OnProgress): Promise<unknown> {
    if (this.isClosed) return Promise.reject(new EscapementError('E_MODEL_FILE', endedText(job, 'closed')));
    if (this.idle !== null) clearTimeout(this.idle);
    this.child ??= this.begin();
    const { child } = this;
    child.ref();
    child.channel?.ref();
    const watch = new RuntimeWatch(
      runtimeLimitMs(),
      () => cpuWaitMs(child.pid),
      () => this.kill(),
    );
    return new Promise((resolve, reject) => {
      this.current = { job, watch, onProgress, resolve, reject };
      const message: RuntimeTask = { job, task, aliveMs: watch.limitMs / SIGNS };
      child.send(message, (error) => error !== null && this.ended(child, error.message));
    }).finally(() => {
      this.current = null;
      watch.end();
      child.unref();
      child.channel?.unref();
      this.idle = setTimeout(() => this.dismiss(), IDLE_MS).unref();
    });
  }

  /** Another task starts another process: this one may take a while to end, and takes no task with it. */
  private dismiss(): void {
    this.kill();
    this.child = null;
  }

  private kill(): void {
    this.child?.kill('SIGKILL');
  }

  private begin(): ChildProcess {
    const child = fork(compiledNextTo(import.meta.url, '../models/measure/runtime-process.js'), {
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (report: RuntimeReport) => this.take(report));
    child.on('exit', (status, signal) => this.ended(child, signal ?? `status ${status}`));
    child.on('error', (error) => this.ended(child, error.message));
    return child;
  }

  private take(report: RuntimeReport): void {
    this.current?.watch.heard();
    if (report.kind === 'progress') this.current?.onProgress(report.share, report.next);
    else if (report.kind === 'done') this.current?.resolve(report.result);
    else if (report.kind === 'failed') this.current?.reject(problemError(report.problem));
  }

  private ended(child: ChildProcess, how: string): void {
    if (this.child !== child) return;
    this.child = null;
    if (this.current === null) return;
    const { job, watch, reject } = this.current;
    reject(
      watch.isOver
        ? new TooLong('E_MODEL_FILE', tooLong(job, watch.limitMs))
        : new EscapementError('E_MODEL_FILE', endedText(job, how)),
    );
  }
}

const shared = new RuntimeProcess();

function tooLong(job: RuntimeJob, limitMs: number): string {
  return `onnxruntime was stopped because it took more than ${limitMs / 1000} s to ${JOBS[job]} it; runtime.prepareLimit allows more`;
}

function endedText(job: RuntimeJob, how: string): string {
  const memory = how === 'SIGKILL' ? ', possibly out of memory' : '';
  return `onnxruntime ended while trying to ${JOBS[job]} it (${how})${memory}`;
}

/**
 * Calls `expired` if a process gives no sign of life for the limit, counted from its first one. Time in which it was
 * runnable, but others had the CPU, does not count: `cpuWaitMs` returns its total so far.
 */
export class RuntimeWatch {
  isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private signs = 0;
  private waitedMs = 0;

  constructor(
    readonly limitMs: number,
    private readonly cpuWaitMs: () => number,
    private readonly expired: () => void,
  ) {}

  heard(): void {
    this.signs++;
    this.waitedMs = this.cpuWaitMs();
    this.checkAfter(this.limitMs);
  }

  end(): void {
    clearTimeout(this.timer);
  }

  private checkAfter(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), ms);
  }

  /** If this thread was itself delayed, signs of life are still unread. */
  private check(): void {
    const { signs, waitedMs } = this;
    setImmediate(() => {
      if (this.signs > signs) return;
      this.waitedMs = this.cpuWaitMs();
      const owedMs = this.waitedMs - waitedMs;
      if (owedMs >= 1) return this.checkAfter(owedMs);
      this.isOver = true;
      this.expired();
    });
  }
}

/** Time for which a process has waited for a CPU so far. Available on Linux only; 0 elsewhere. */
export function cpuWaitMs(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / NS_PER_MS;
  } catch {
    return 0;
  }
}
