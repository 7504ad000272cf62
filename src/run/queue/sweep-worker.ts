import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type * as z from 'zod';
import { EscapementError } from '../../base/errors.js';
import { MIB } from '../../base/units.js';
import type { LocatedPaths } from '../../config/files-on-disk.js';
import type { CellRunner } from '../sweep/pool.js';
import { type CellOutcome, failedOutcome } from '../sweep/run-cell.js';
import { connect, type QueueAddress, within } from './connection.js';
import { blobOf, FetchedFiles } from './files.js';
import {
  type Answer,
  BULLMQ,
  KEPT_S,
  KEYS,
  LONGEST_MESSAGE,
  LONGEST_RESULT,
  type Order,
  orderSchema,
  queueName,
} from './messages.js';

interface SweepWorkerOptions {
  readonly version: string;
  /** Number of cells run in parallel. */
  readonly threads: number;
  /** Opens their runner, with threads other than this one. */
  readonly openRunner: (threads: number) => CellRunner;
  /** Modules with policies that cells may use; the queue never supplies code. */
  readonly plugins: readonly string[];
  /** Reports events for people. */
  readonly say: (what: string) => void;
  /** Called for each finished cell. */
  readonly onCell: (outcome: CellOutcome) => void;
}

/** After this long without a sign of life, others take over a worker's cells. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5000;
/** Times that a cell may be lost before it fails: it may be crashing the workers. */
const MOST_STALLED = 2;
const RETRY_MS = 1000;
const CLOSE_MS = 3000;
/** Number of distinct reasons reported, and characters of each. */
const MOST_REASONS = 20;
const LONGEST_REASON = 200;

/** Starts to run cells of a queue. Throws `E_QUEUE` within seconds if its server is not there. */
export async function startSweepWorker(
  address: QueueAddress,
  options: SweepWorkerOptions,
): Promise<SweepWorker> {
  const modules = await modulesOf(options.plugins);
  const client = await connect(address, options.say);
  const worker = new SweepWorker(client, options, modules, await FetchedFiles.open(client));
  try {
    await worker.start();
    return worker;
  } catch (error) {
    await worker.stop();
    throw new EscapementError('E_QUEUE', `${address.shown} cannot be used: ${(error as Error).message}`);
  }
}

/** Runs cells for sweeps elsewhere. Trusts nothing in the queue. */
class SweepWorker {
  private readonly name = `${hostname()}:${process.pid}`;
  private readonly pool: CellRunner;
  private worker: Worker | undefined;
  /** Reasons why jobs were refused. */
  private readonly refused = new Set<string>();
  /** Settles when jobs of ended sweeps are gone. */
  private dropped: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: Redis,
    private readonly options: SweepWorkerOptions,
    /** Paths of modules by their SHA-256. */
    private readonly modules: ReadonlyMap<string, string>,
    private readonly files: FetchedFiles,
  ) {
    this.pool = options.openRunner(options.threads);
  }

  /** Throws the server's error if it refuses this user. */
  async start(): Promise<void> {
    await this.client.exists(KEYS.sweep(''));
    // The thread of this process only waits for the pool, so that it can renew the locks.
    this.worker = new Worker(queueName(this.options.version), (job: Job) => this.process(job), {
      ...{ ...BULLMQ, connection: this.client },
      ...{ concurrency: this.options.threads, lockDuration: LOCK_MS, stalledInterval: STALLED_CHECK_MS },
      ...{ maxStalledCount: MOST_STALLED, runRetryDelay: RETRY_MS },
      ...{ removeOnComplete: { age: KEPT_S }, removeOnFail: { age: KEPT_S } },
    });
    this.worker.on('completed', (job: Job) => {
      this.dropped = this.dropped.then(() => this.drop(job)).catch(() => {});
    });
    // Foreign jobs, lost locks and a server that is away: the next job is tried nevertheless.
    this.worker.on('error', () => {});
    await this.worker.waitUntilReady();
  }

  /** Takes no more cells, and resolves when the running ones have ended. */
  async stop(): Promise<void> {
    await this.worker?.close();
    await within(CLOSE_MS, this.dropped).catch(() => {});
    this.client.disconnect();
    await this.pool.close();
    await this.files.close();
  }

  /** Runs the cell of a job, and returns an answer for its sweep; null if that sweep has ended. */
  private async process({ data }: Job): Promise<Answer | null> {
    const { data: order, error } = orderSchema.safeParse(data);
    if (order === undefined) throw this.refusal(error.issues[0]!);
    if (!(await this.isThere(order.sweep))) return null;
    const beganMs = performance.now();
    const outcome = await this.outcomeOf(order).catch(failedOutcome);
    this.options.onCell(outcome);
    const { name, options } = this;
    return { worker: { name, threads: options.threads }, ranMs: performance.now() - beganMs, outcome };
  }

  /** True if a sweep has not ended. */
  private async isThere(sweep: string): Promise<boolean> {
    return (await this.client.exists(KEYS.sweep(sweep))) === 1;
  }

  /** Removes a job, with its result, that its ended sweep left behind. */
  private async drop(job: Job): Promise<void> {
    if (!(await this.isThere(String(job.data?.sweep)))) await job.remove();
  }

  private outcomeOf(order: Order): Promise<CellOutcome> {
    const { name, file, overrides, metrics, plugin, files, plugins } = order;
    const wanted = [
      { blob: order.text, suffix: '' },
      // The name of a trace only says whether it is compressed.
      ...files.map(({ path, blob }) => ({ blob, suffix: path.endsWith('.gz') ? '.gz' : '' })),
    ];
    return this.files.with(wanted, async ([text, ...paths]) => {
      const located: LocatedPaths = {
        data: new Map(files.map(({ path }, i) => [path, paths[i]!])),
        modules: new Map(plugins.map(({ path, sha256 }) => [path, this.moduleOf(path, sha256)])),
      };
      const outcome = await this.pool.run(
        {
          text: await readFile(text!, 'utf8'),
          ...{ name, file, overrides, metrics, located },
          // Nothing is stored here under a key, and only located files are used.
          ...{ key: '', files: [] },
          ...(plugin === undefined ? {} : { plugin }),
        },
        order.job,
      );
      return asSeenThere(outcome, order, located);
    });
  }

  /** Reports why, once per reason: the queue can contain anything, in any number. */
  private refusal({ path, message }: z.core.$ZodIssue): UnrecoverableError {
    const reason = [...path, message].map(String).join(': ').slice(0, LONGEST_REASON);
    if (!this.refused.has(reason) && this.refused.size < MOST_REASONS) {
      this.refused.add(reason);
      this.options.say(`a job in the queue is refused: ${reason}`);
    }
    return new UnrecoverableError(reason);
  }

  private moduleOf(path: string, sha256: string): string {
    const module = this.modules.get(sha256);
    if (module !== undefined) return module;
    const what = `a worker does not have this plugin (SHA-256 ${sha256}): start each with escapement sweep-worker --plugin FILE`;
    throw new EscapementError('E_PLUGIN', what, { file: path });
  }
}

/** The outcome with the paths of the machine that sent the cell. */
function asSeenThere(
  outcome: CellOutcome,
  { files, plugins }: Order,
  { data, modules }: LocatedPaths,
): CellOutcome {
  if (outcome.status === 'done') {
    if (outcome.json.length <= LONGEST_RESULT) return outcome;
    const what = `its result has more than ${LONGEST_RESULT / MIB} MiB, too much for a queue: run it without --queue`;
    return failedOutcome(new EscapementError('E_QUEUE', what));
  }
  const theirPath = new Map([
    ...files.map(({ path }) => [data.get(path)!, path] as const),
    ...plugins.map(({ path }) => [modules.get(path)!, path] as const),
  ]);
  // In one pass: paths of other machines are untrusted, and must not be scanned again.
  const here = outcome.message.slice(0, LONGEST_MESSAGE);
  const paths = [...theirPath.keys()].filter((path) => here.includes(path));
  if (paths.length === 0) return { ...outcome, message: here };
  const pattern = new RegExp(paths.map((path) => path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
  const message = here.replace(pattern, (path) => theirPath.get(path)!).slice(0, LONGEST_MESSAGE);
  return { ...outcome, message };
}

async function modulesOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const blobs = await Promise.all(paths.map((path) => blobOf(path)));
  return new Map(blobs.map(({ sha256 }, i) => [sha256, resolve(paths[i]!)]));
}
