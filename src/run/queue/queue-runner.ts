import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import type { ReadFile } from '../../config/files-on-disk.js';
import type { CellJob, CellRunner } from '../sweep/pool.js';
import type { CellOutcome, CellTask } from '../sweep/run-cell.js';
import { connect, type QueueAddress, within } from './connection.js';
import { blobOf, PublishedFiles } from './files.js';
import {
  answerOf,
  BULLMQ,
  KEPT_S,
  KEYS,
  kindText,
  LONGEST_MESSAGE,
  MARK_MS,
  type Order,
  queueName,
} from './messages.js';

interface QueueOptions {
  readonly version: string;
  /** Reports events for people: the server is away, no worker takes the cells. */
  readonly say: (what: string) => void;
}

/** Work of one worker for a sweep. */
interface WorkerShare {
  readonly name: string;
  readonly threads: number;
  readonly cells: number;
  /** Total over all its threads. */
  readonly ranMs: number;
}

/** A cell with a waiting caller. */
interface OpenCell {
  /** Id of its job. */
  readonly id: string;
  readonly task: CellTask;
  readonly job: CellJob;
  /** True if its job is in the queue, unless the server has lost it. */
  isSent: boolean;
  /** Number of malformed answers. */
  wrong: number;
  settle(outcome: CellOutcome): void;
  fail(error: unknown): void;
}

/** Attempts after an exception of the processor; an exception of a cell is an outcome. */
const ATTEMPTS = 3;
/** Number of events kept, for prompt readers; missed ones are polled for. */
const MOST_EVENTS = 200;
const CARE_MS = 2000;
/** Waiting cells that no worker takes for this long are worth a message. */
const IDLE_MS = 5000;
const SILENT_MS = 10_000;
const CLOSE_MS = 3000;
const MOST_WRONG = 3;

/** Connects to a server of queues. Throws `E_QUEUE` within seconds if it is not there. */
export async function openQueueRunner(address: QueueAddress, options: QueueOptions): Promise<QueueRunner> {
  const client = await connect(address, options.say);
  const runner = new QueueRunner(client, options);
  try {
    await runner.start();
    return runner;
  } catch (error) {
    await runner.close();
    throw new EscapementError('E_QUEUE', `${address.shown} cannot be used: ${(error as Error).message}`);
  }
}

/**
 * Lets workers on other machines run cells, each as a job. Events report results promptly, and polling covers missed
 * ones, so each result arrives exactly once, whatever happens to workers and to the server.
 */
class QueueRunner implements CellRunner {
  /** Limit on queued cells, which take memory of the server and must be removed after an interruption. */
  readonly width = 2000;
  private readonly sweep = randomUUID();
  private readonly open = new Map<string, OpenCell>();
  private readonly shares = new Map<string, WorkerShare>();
  private readonly queue: Queue<Order>;
  private readonly events: QueueEvents;
  private readonly files: PublishedFiles;
  private readonly said = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;
  private cells = 0;
  /** Last time at which a worker had cells, by `performance.now`. */
  private busyMs = performance.now();

  constructor(
    private readonly client: Redis,
    private readonly options: QueueOptions,
  ) {
    const name = queueName(options.version);
    const streams = { events: { maxLen: MOST_EVENTS } };
    this.queue = new Queue(name, { ...BULLMQ, connection: client, streams });
    this.events = new QueueEvents(name, { ...BULLMQ, connection: client, autorun: false });
    this.events.on('completed', ({ jobId, returnvalue }) => void this.take(jobId, returnvalue));
    // Connections have their own listener, and errors of a call reach its caller.
    this.queue.on('error', () => {});
    this.events.on('error', () => {});
    this.files = new PublishedFiles(client);
  }

  /** Throws the server's error if it refuses this user. */
  async start(): Promise<void> {
    await this.mark();
    this.timer = setTimeout(() => void this.care(), CARE_MS);
    void this.listen();
  }

  get workers(): readonly WorkerShare[] {
    return [...this.shares.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Rejects with `E_QUEUE` for a file that cannot be sent. */
  run(task: CellTask, job: CellJob = 'runCell'): Promise<CellOutcome> {
    return new Promise((settle, fail) => {
      const id = `${this.sweep}-${this.cells++}`;
      const one = { id, task, job, isSent: false, wrong: 0, settle, fail };
      this.open.set(id, one);
      void this.send(one);
    });
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer);
    // If the server is away, workers discard its remaining jobs later, or these expire.
    await within(CLOSE_MS, this.tidy()).catch(() => {});
    await this.events.close().catch(() => {});
    this.client.disconnect();
  }

  private async tidy(): Promise<void> {
    // From now on, workers discard their jobs of this sweep.
    await this.client.del(KEYS.sweep(this.sweep));
    await Promise.all([...this.open.keys()].map((id) => this.queue.remove(id)));
    await this.files.remove();
    await this.queue.close();
  }

  private async send(one: OpenCell): Promise<void> {
    try {
      const order = await this.orderOf(one);
      // Adding an existing job changes nothing.
      const kept = { removeOnComplete: { age: KEPT_S }, removeOnFail: { age: KEPT_S } };
      await this.queue.add('cell', order, { jobId: one.id, attempts: ATTEMPTS, ...kept });
    } catch (error) {
      if (error instanceof EscapementError) {
        this.open.delete(one.id);
        one.fail(error);
      } else if (this.closing === undefined) this.sayOnce(`the queue refuses: ${(error as Error).message}`);
    }
    // If the server did not accept it, it is missing, and will be sent again.
    one.isSent = true;
  }

  private async orderOf({ job, task }: OpenCell): Promise<Order> {
    const { name, file, overrides, metrics, plugin } = task;
    const pathsOf = (kind: ReadFile['kind']) =>
      task.files.flatMap((one) => (one.kind === kind ? one.path : []));
    const files = pathsOf('data').map(async (path) => ({ path, blob: await this.files.addFile(path) }));
    const plugins = pathsOf('module').map(async (path) => ({ path, sha256: (await blobOf(path)).sha256 }));
    return {
      ...{ sweep: this.sweep, job, name, file },
      ...{ overrides: [...overrides], metrics: [...metrics] },
      text: await this.files.addText(task.text),
      ...(plugin === undefined ? {} : { plugin }),
      files: await Promise.all(files),
      plugins: await Promise.all(plugins),
    };
  }

  /** Receives results as they come. A malformed event ends the reading, which then starts over. */
  private async listen(): Promise<void> {
    while (this.closing === undefined) {
      await this.events.run().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, CARE_MS / 4));
    }
  }

  /** Accepts the result of a job, unless it is malformed or a duplicate. */
  private take(id: string, value: unknown): boolean {
    const one = this.open.get(id);
    if (one === undefined) return true;
    const answer = answerOf(value, one.job);
    if (answer === null) return false;
    const { name, threads } = answer.worker;
    const { cells, ranMs } = this.shares.get(name) ?? { cells: 0, ranMs: 0 };
    this.shares.set(name, { name, threads, cells: cells + 1, ranMs: ranMs + answer.ranMs });
    this.settle(one, answer.outcome);
    return true;
  }

  private settle(one: OpenCell, outcome: CellOutcome): void {
    this.open.delete(one.id);
    // A job that remains because the server is away expires.
    this.queue.remove(one.id).catch(() => {});
    one.settle(outcome);
  }

  private async care(): Promise<void> {
    const silent = `the queue has not answered for ${SILENT_MS / 1000} s; waiting for it`;
    const timer = setTimeout(() => this.sayOnce(silent), SILENT_MS);
    try {
      await this.mark();
      await this.watch();
      await this.files.renew();
      await Promise.all([...this.open.values()].map((one) => this.check(one)));
    } catch (error) {
      if (error instanceof EscapementError) for (const one of this.open.values()) one.fail(error);
      // Otherwise the server refuses for now, for example because it is still loading.
    } finally {
      clearTimeout(timer);
    }
    if (this.closing === undefined) this.timer = setTimeout(() => void this.care(), CARE_MS);
  }

  /** Tells workers that this sweep is there. */
  private async mark(): Promise<void> {
    await this.client.set(KEYS.sweep(this.sweep), '', 'PX', MARK_MS);
  }

  private async watch(): Promise<void> {
    if (this.open.size === 0 || (await this.queue.getActiveCount()) > 0) this.busyMs = performance.now();
    if (performance.now() - this.busyMs > IDLE_MS)
      this.sayOnce(
        `no worker takes the cells: start escapement sweep-worker with the same --queue, on any machine with ${kindText(this.options.version)}`,
      );
  }

  /** Takes any action that became necessary since the job of a cell was sent. */
  private async check(one: OpenCell): Promise<void> {
    if (!one.isSent) return;
    const state = await this.queue.getJobState(one.id);
    if (!this.open.has(one.id)) return;
    if (state === 'unknown') await this.send(one);
    if (state !== 'completed' && state !== 'failed') return;
    const job = await this.queue.getJob(one.id).catch(() => undefined);
    if (!this.open.has(one.id)) return;
    if (state === 'failed') {
      const reason = String(job?.failedReason).slice(0, LONGEST_MESSAGE);
      this.settle(one, failed(`no worker could finish it: ${reason}`));
    } else if (!this.take(one.id, job?.returnvalue)) await this.again(one);
  }

  /** Runs a cell again if its job returned no valid result. */
  private async again(one: OpenCell): Promise<void> {
    if (++one.wrong === MOST_WRONG) {
      this.settle(one, failed(`what workers handed in is no result, ${MOST_WRONG} times`));
      return;
    }
    await this.queue.remove(one.id);
    await this.send(one);
  }

  private sayOnce(what: string): void {
    if (this.said.has(what)) return;
    this.said.add(what);
    this.options.say(what);
  }
}

function failed(message: string): CellOutcome {
  return { status: 'failed', code: 'E_QUEUE', message };
}
