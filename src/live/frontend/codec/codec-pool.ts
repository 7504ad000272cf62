import { Worker as Thread } from 'node:worker_threads';
import { compiledNextTo } from '../../../base/compiled.js';
import { Refusal } from '../refusal.js';
import type { CodecJob, JobInput, JobValue } from './codec-jobs.js';
import type { CodecOrder, CodecReply } from './codec-messages.js';
import { type Turn, TurnQueue } from './turn-queue.js';

interface CodecPoolOptions {
  readonly threads: number;
  /** Heap of one thread. A job that needs more is refused. */
  readonly heapMib: number;
  /** A job that takes longer is refused. */
  readonly jobTimeoutMs: number;
  /** A body that came in and waits longer for a thread is refused. What was served already may wait. */
  readonly queueTimeoutMs: number;
}

/** How long it makes sense that a job waits for a thread. */
interface WaitLimit {
  /** When to ask `refusal` again, ms from now. */
  readonly leftMs: number;
  /** Why the job need not begin any more; null: it may. `waitedMs`: for a thread, so far; `ahead`: jobs in its turn that were before it. */
  refusal(waitedMs: number, ahead: number): Refusal | null;
}

/** Either `coded` or `notCoded` is called, once, later. */
interface CodecClient<Name extends CodecJob> {
  /** Nothing waits for the job any more: it does not begin. */
  readonly isGone: boolean;
  /** What ends the wait for a thread early; absent: nothing does. */
  readonly limit?: WaitLimit;
  coded(value: JobValue<Name>): void;
  notCoded(refusal: Refusal): void;
}

/** What was executed already is not refused for want of a thread. */
const MAY_WAIT: ReadonlySet<CodecJob> = new Set(['splitInputs'] as const);

/**
 * Threads that parse and encode what would hold up others for too long. They start when they are needed. A thread that
 * runs out of memory or time is replaced, and only its job is refused.
 */
export class CodecPool {
  private readonly queue = new TurnQueue<Job>();
  private readonly seats: Seat[];
  private isClosed = false;

  constructor(private readonly options: CodecPoolOptions) {
    this.seats = Array.from({ length: options.threads }, () => new Seat(options, () => this.next()));
  }

  /** Runs a job, in `turn`. Buffers in `transfer` move to the thread. */
  run<Name extends CodecJob>(
    name: Name,
    input: JobInput<Name>,
    transfer: readonly ArrayBuffer[],
    turn: Turn,
    waiting: CodecClient<Name>,
  ): void {
    const job = new Job({ name, input, buffers: transfer }, waiting as CodecClient<CodecJob>);
    if (this.isClosed) {
      setImmediate(() => job.refuse(closing()));
      return;
    }
    job.ahead = this.queue.waiting(turn);
    this.queue.push(turn, job, job.bytes);
    this.next();
    if (!job.hasBegun && !MAY_WAIT.has(name)) this.watch(turn, job);
  }

  /** Refuses what has not ended. Resolves when all threads have. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (let job = this.queue.shift(); job !== undefined; job = this.queue.shift()) job.refuse(closing());
    await Promise.all(this.seats.map((seat) => seat.close()));
  }

  private next(): void {
    if (this.isClosed) return;
    for (const seat of this.seats) {
      if (seat.isBusy) continue;
      const job = this.nextJob();
      if (job === undefined) return;
      seat.start(job);
    }
  }

  private nextJob(): Job | undefined {
    for (;;) {
      const job = this.queue.shift();
      const refusal = job?.objection() ?? null;
      if (job === undefined || refusal === null) return job;
      job.begin();
      setImmediate(() => job.refuse(refusal));
    }
  }

  /** While the job waits. */
  private watch(turn: Turn, job: Job): void {
    const leftMs = Math.min(job.leftMs, this.options.queueTimeoutMs - job.waitedMs);
    job.patience = setTimeout(() => this.look(turn, job), Math.max(1, Math.ceil(leftMs)));
  }

  private look(turn: Turn, job: Job): void {
    const { queueTimeoutMs } = this.options;
    const refusal = job.objection() ?? (job.waitedMs < queueTimeoutMs ? null : waitedTooLong(queueTimeoutMs));
    if (refusal === null) {
      this.watch(turn, job);
      return;
    }
    this.queue.remove(turn, job);
    job.refuse(refusal);
  }
}

function waitedTooLong(ms: number): Refusal {
  const what = `the body waited ${ms / 1000} s to be decoded, as others do`;
  return new Refusal('tooBusy', `${what}: try again later, or send tensors as binary data`);
}

function closing(): Refusal {
  return new Refusal('notReady', 'the server is draining');
}

class Job {
  hasBegun = false;
  /** Jobs in its turn that waited when it came. */
  ahead = 0;
  /** Runs while it waits for a thread. */
  patience: NodeJS.Timeout | undefined;
  private readonly sinceMs = performance.now();

  constructor(
    readonly order: CodecOrder,
    private waiting: CodecClient<CodecJob> | null,
  ) {}

  /** Of what moves to the thread; 1 at least. */
  get bytes(): number {
    return this.order.buffers.reduce((sum, { byteLength }) => sum + byteLength, 1);
  }

  get waitedMs(): number {
    return performance.now() - this.sinceMs;
  }

  get leftMs(): number {
    return this.waiting?.limit?.leftMs ?? Number.POSITIVE_INFINITY;
  }

  /** Why it need not begin; null: it may. */
  objection(): Refusal | null {
    if (this.waiting?.isGone ?? true) return new Refusal('invalid', 'the client is gone');
    return this.waiting?.limit?.refusal(this.waitedMs, this.ahead) ?? null;
  }

  begin(): void {
    this.hasBegun = true;
    clearTimeout(this.patience);
  }

  refuse(refusal: Refusal): void {
    const { waiting } = this;
    this.waiting = null;
    clearTimeout(this.patience);
    waiting?.notCoded(refusal);
  }

  finish(reply: CodecReply): void {
    if (reply.refusal !== undefined) {
      this.refuse(new Refusal(reply.refusal.kind, reply.refusal.message));
      return;
    }
    const { waiting } = this;
    this.waiting = null;
    waiting?.coded(reply.value as JobValue<CodecJob>);
  }
}

/** A thread that has had nothing to do for so long ends, and its heap with it. */
const IDLE_MS = 5000;

/** Room for one thread, with at most one job at a time. */
class Seat {
  private thread: Thread | null = null;
  private job: Job | null = null;
  private timer: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: CodecPoolOptions,
    private readonly freed: () => void,
  ) {}

  get isBusy(): boolean {
    return this.job !== null;
  }

  start(job: Job): void {
    this.job = job;
    job.begin();
    clearTimeout(this.idle);
    this.timer = setTimeout(() => this.overrun(), this.options.jobTimeoutMs);
    try {
      this.thread ??= this.open();
      this.thread.ref();
      this.thread.postMessage(job.order, job.order.buffers as ArrayBuffer[]);
    } catch (error) {
      this.end()?.refuse(new Refusal('failed', `internal error: ${(error as Error).message}`));
      // Others may wait for this seat.
      setImmediate(this.freed);
    }
  }

  async close(): Promise<void> {
    const { thread } = this;
    this.thread = null;
    clearTimeout(this.idle);
    this.end()?.refuse(closing());
    await thread?.terminate();
  }

  private open(): Thread {
    const thread = new Thread(compiledNextTo(import.meta.url, 'codec-thread.js'), {
      resourceLimits: { maxOldGenerationSizeMb: this.options.heapMib },
    });
    thread.on('message', (reply: CodecReply) => {
      if (this.thread === thread) this.finish(reply);
    });
    thread.on('error', (error: NodeJS.ErrnoException) => this.lose(thread, error.code));
    thread.on('exit', () => this.lose(thread, undefined));
    return thread;
  }

  private finish(reply: CodecReply): void {
    this.thread?.unref();
    this.end()?.finish(reply);
    this.freed();
    if (this.job !== null || this.thread === null) return;
    this.idle = setTimeout(() => this.rest(), IDLE_MS);
    this.idle.unref();
  }

  private rest(): void {
    const { thread } = this;
    this.thread = null;
    void thread?.terminate();
  }

  /** The job that ran. */
  private end(): Job | null {
    clearTimeout(this.timer);
    const { job } = this;
    this.job = null;
    return job;
  }

  private overrun(): void {
    const { thread } = this;
    this.thread = null;
    thread?.terminate();
    const seconds = this.options.jobTimeoutMs / 1000;
    this.end()?.refuse(new Refusal('tooLarge', `the body took longer than ${seconds} s to decode or encode`));
    this.freed();
  }

  private lose(thread: Thread, code: string | undefined): void {
    if (this.thread !== thread) return;
    this.thread = null;
    const refusal =
      code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? new Refusal('tooLarge', 'the body needs more memory to decode or encode than the server allows')
        : new Refusal('failed', 'internal error: the thread that decodes and encodes bodies has ended');
    this.end()?.refuse(refusal);
    this.freed();
  }
}
