import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Redis } from 'ioredis';
import { EscapementError } from '../../base/errors.js';
import type { ReadFile } from '../../config/files-on-disk.js';
import type { CellJob, CellRunner } from '../sweep/pool.js';
import type { CellOutcome, CellTask } from '../sweep/run-cell.js';
import type { QueueAddress } from './address.js';
import { another, connect, within } from './connection.js';
import { JobQueue } from './job-queue.js';
import { answerOf, isResult, type Order } from './messages.js';
import { KEYS, ownKind, queueName } from './names.js';
import { type OpenCell, OpenCells } from './open-cells.js';
import { Presence } from './presence.js';
import { blobOf, PublishedFiles } from './published-files.js';
import { scriptsFor } from './scripts.js';
import { type WorkerShare, WorkerTally } from './worker-tally.js';

interface QueueOptions {
  readonly version: string;
  /** Hears what people should know: the server is away, a worker of another version is there. */
  readonly say: (what: string) => void;
}

/** Cells are put into the queue so many at a time. */
const BATCH = 200;
const CARE_MS = 2000;
/** Workers throw away what belongs to a sweep that has not been heard of for so long. */
const ALIVE_MS = 30_000;
const CLOSE_MS = 3000;
const MOST_WRONG = 3;

/** Connects to a server of queues. Throws `E_QUEUE` within seconds where it is not there. */
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
 * Lets workers on other machines run cells. Results are taken by the number of their cell, and what is missing is
 * asked for, so each arrives once, whatever happens to workers and to the server.
 */
class QueueRunner implements CellRunner {
  private readonly sweep = randomUUID();
  private readonly open = new OpenCells();
  private readonly tally = new WorkerTally();
  private readonly receiver: Redis;
  private readonly jobs: JobQueue;
  private readonly files: PublishedFiles;
  private readonly presence: Presence;
  private timer: NodeJS.Timeout | undefined;
  private pumping: Promise<void> = Promise.resolve();
  private isScheduled = false;
  private closing: Promise<void> | undefined;
  /** Cells that are finished, and whose jobs may still be there: a worker that lost its lock leaves one behind. */
  private readonly ended = new Set<number>();
  private readonly said = new Set<string>();

  constructor(
    private readonly client: Redis,
    private readonly options: QueueOptions,
  ) {
    const kind = ownKind(options.version);
    const name = queueName(kind);
    this.receiver = another(client);
    this.jobs = new JobQueue(client, name, this.sweep);
    this.files = new PublishedFiles(client);
    this.presence = new Presence({
      scripts: scriptsFor(client, name),
      ...{ own: KEYS.sweeps, other: KEYS.workers, noun: 'worker', say: options.say },
      card: { ...kind, id: this.sweep, name: `${hostname()}:${process.pid}`, threads: 0 },
    });
  }

  /** Throws what the server says if it refuses this user. */
  async start(): Promise<void> {
    await this.renew();
    this.timer = setTimeout(() => void this.care(), CARE_MS);
    void this.receive();
  }

  private get capacity(): number {
    return Math.max(
      1,
      this.tally.all.reduce((sum, one) => sum + (one.isHere ? one.threads : 0), 0),
    );
  }

  get workers(): readonly WorkerShare[] {
    return this.tally.all;
  }

  /** Rejects with `E_QUEUE` for a file that cannot be sent. */
  run(task: CellTask, job: CellJob = 'runCell'): Promise<CellOutcome> {
    const found = this.open.add(task, job);
    this.schedule();
    return found;
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer);
    this.receiver.disconnect();
    // A server that is away keeps what it has: workers throw it away, or it expires.
    await within(CLOSE_MS, this.tidy()).catch(() => {});
    this.client.disconnect();
  }

  private async tidy(): Promise<void> {
    await this.client.del(KEYS.alive(this.sweep), KEYS.results(this.sweep));
    await this.pumping;
    await this.jobs.remove([...this.open.inQueue.map(({ cell }) => cell), ...this.ended]);
    await this.files.remove();
    await this.presence.leave();
    await this.jobs.close();
  }

  /** Puts cells into the queue, once for all that are added in one go. */
  private schedule(): void {
    if (this.isScheduled || this.closing !== undefined) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.pumping = this.pumping.then(() => this.pump());
    });
  }

  private async pump(): Promise<void> {
    while (this.closing === undefined) {
      const batch = this.open.take(BATCH, this.capacity);
      if (batch.length === 0) return;
      await this.send(batch);
    }
  }

  private async send(batch: readonly OpenCell[]): Promise<void> {
    try {
      await this.jobs.add(await Promise.all(batch.map((one) => this.orderOf(one))));
    } catch (error) {
      if (error instanceof EscapementError) this.open.failAll(error);
      // Otherwise the server did not take them: they are missing, and will be asked for.
    }
    for (const one of batch) one.missed = 0;
  }

  private async orderOf({ cell, job, task }: OpenCell): Promise<Order> {
    const { name, file, overrides, percentiles, plugin } = task;
    const pathsOf = (kind: ReadFile['kind']) =>
      task.files.flatMap((one) => (one.kind === kind ? one.path : []));
    const files = pathsOf('data').map(async (path) => ({
      ...{ path, shown: path },
      blob: await this.files.addFile(path),
    }));
    const plugins = pathsOf('module').map(async (path) => ({
      ...{ path, shown: resolve(path) },
      sha256: (await blobOf(path)).sha256,
    }));
    return {
      ...{ sweep: this.sweep, cell, job, name, file },
      ...{ overrides: [...overrides], percentiles: [...percentiles] },
      text: await this.files.addText(task.text),
      ...(plugin === undefined ? {} : { plugin }),
      files: await Promise.all(files),
      plugins: await Promise.all(plugins),
    };
  }

  /** Takes what workers found as it comes. */
  private async receive(): Promise<void> {
    const key = KEYS.results(this.sweep);
    while (this.closing === undefined) {
      try {
        const first = await this.receiver.blpop(key, CARE_MS / 1000);
        if (first === null) continue;
        this.handle(first[1]);
        for (const text of (await this.receiver.lpop(key, BATCH)) ?? []) this.handle(text);
      } catch {
        if (this.closing !== undefined) return;
        // The server refuses for now.
        await new Promise((resolve) => setTimeout(resolve, CARE_MS / 4));
      }
    }
  }

  private handle(text: string): void {
    const answer = answerOf(text);
    if (answer === null) {
      this.sayOnce('something in the queue is not of escapement; it is left out');
      return;
    }
    const one = this.open.find(answer.cell);
    // A worker that froze may hand in what another one found meanwhile.
    if (one === undefined) return;
    let { outcome } = answer;
    if (outcome.status === 'done' && !isResult(one.job, outcome.json)) {
      one.wrong++;
      // Its job is gone, so it will be missing, and asked for.
      if (one.wrong < MOST_WRONG) return;
      outcome = failed(`what workers handed in is no result, ${MOST_WRONG} times`);
    }
    this.tally.count(answer);
    this.settle(one, outcome);
  }

  private settle(one: OpenCell, outcome: CellOutcome): void {
    this.open.close(one);
    this.ended.add(one.cell);
    one.settle(outcome);
    this.schedule();
  }

  private async care(): Promise<void> {
    try {
      await this.renew();
      await this.files.renew();
      await this.askForMissing();
      await this.forgetGone();
    } catch (error) {
      if (error instanceof EscapementError) this.open.failAll(error);
      // Otherwise the server refuses for now, for example because it is still loading.
    }
    if (this.closing === undefined) this.timer = setTimeout(() => void this.care(), CARE_MS);
  }

  private async renew(): Promise<void> {
    const alive = this.client.set(KEYS.alive(this.sweep), '1', 'PX', ALIVE_MS);
    await Promise.all([alive, this.presence.renew()]);
    this.tally.update(this.presence.peers);
    if (this.presence.peers.length > 0 || this.open.inQueue.length === 0) return;
    this.sayOnce('no worker is there: start escapement sweep-worker with the same --queue, on any machine');
  }

  private async askForMissing(): Promise<void> {
    const sent = this.open.inQueue.filter(({ missed }) => missed !== undefined);
    const states = await this.jobs.states(sent.map(({ cell }) => cell));
    const again: OpenCell[] = [];
    for (const [i, one] of sent.entries()) {
      const state = states[i]!;
      if (this.open.find(one.cell) === undefined || state === 'there') one.missed = 0;
      // Its result may be on its way: only the second time counts.
      else if (state === 'missing') one.missed === 0 ? one.missed++ : again.push(one);
      else {
        await this.jobs.remove([one.cell]);
        this.settle(one, failed(`no worker could finish it: ${state.failed}`));
      }
    }
    for (let i = 0; i < again.length; i += BATCH) await this.send(again.slice(i, i + BATCH));
  }

  private async forgetGone(): Promise<void> {
    const ended = [...this.ended];
    const states = await this.jobs.states(ended);
    for (const [i, cell] of ended.entries()) if (states[i] === 'missing') this.ended.delete(cell);
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
