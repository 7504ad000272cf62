import { usableCores } from '../base/limits/usable.js';
import { printable } from '../base/printable.js';
import type { QueueAddress } from '../run/queue/connection.js';
import type { openQueueRunner } from '../run/queue/queue-runner.js';
import { type CellRunner, threadPool } from '../run/sweep/pool.js';
import { writeErr } from '../text/terminal.js';
import { plural } from '../text/words.js';
import type { queueFlags } from './common-options.js';
import { interruptible } from './interruption.js';
import type { ValuesOf } from './options.js';
import { openProgress, type Progress } from './progress.js';
import { authorityIn } from './token.js';
import { packageVersion } from './version.js';

type QueueArgs = Omit<ValuesOf<ReturnType<typeof queueFlags>>, 'queue'>;
type QueueRunner = Awaited<ReturnType<typeof openQueueRunner>>;

interface CellArgs extends QueueArgs {
  readonly queue: string | undefined;
  readonly threads: number | undefined;
  readonly quiet: boolean;
}

/** Largest number of workers named in a progress line; further ones are only counted. */
const MOST_NAMED = 3;

/** Progress of a command's cells. */
export class CellRuns {
  known = 0;
  reused = 0;
  failed = 0;
  /** Number of cells; 0 until they start. */
  total = 0;
  private isAbout = false;
  private progress: Progress | undefined;

  constructor(
    readonly runner: CellRunner,
    /** Where they run. */
    readonly place: string,
    private readonly label: string,
    private readonly quiet: boolean,
    private readonly queue: QueueRunner | null,
  ) {}

  /** Announces the work, with the exact or approximate number of cells. */
  begin(total: number, said: string, isAbout = false): void {
    this.total = total;
    this.isAbout = isAbout;
    if (!this.quiet) writeErr(said);
    this.progress = openProgress(this.label, this.quiet);
  }

  /** Counts a finished cell, whatever its result. */
  count(found: { readonly status: 'done' | 'failed'; readonly reused?: boolean }): void {
    this.known++;
    if (found.status === 'failed') this.failed++;
    else if (found.reused) this.reused++;
  }

  /** Counts a finished run, of unknown total number. */
  ran(reused: boolean): void {
    this.count({ status: 'done', reused });
    this.show(plural(this.known, 'run'));
  }

  show(note: string): void {
    const workers = this.queue?.workers ?? [];
    const named =
      workers.length > MOST_NAMED
        ? `, ${plural(workers.length, 'worker')}`
        : workers.map(({ name, cells }) => `, ${name} ${cells}`).join('');
    this.progress?.update(Math.min(this.isAbout ? 0.99 : 1, this.known / this.total), `${note}${named}`);
  }

  /**
   * Ends the display of progress. Returns a sentence about the results that a repeated command will find in its folder.
   */
  stop(noun: string, outDir: string | undefined): string {
    this.progress?.stop();
    if (outDir === undefined) return 'no run is kept without --out';
    const of = this.isAbout ? '' : ` of ${this.total}`;
    return `${this.known - this.failed}${of} ${noun}s are kept in ${outDir}; repeat the command to resume`;
  }
}

/**
 * Runs cells, kept in `outDir`, on threads of this machine or on the workers of a queue, with progress, until done or
 * interrupted.
 */
export async function runCells<T>(
  { quiet, threads = usableCores(), queue: server, ...trust }: CellArgs,
  { label, noun, outDir }: { label: string; noun: 'cell' | 'run'; outDir: string | undefined },
  work: (runs: CellRuns) => Promise<T>,
): Promise<T> {
  const address = server === undefined ? null : await addressOf({ ...trust, queue: server });
  const queue = address === null ? null : await openQueue(address);
  const runner = queue ?? threadPool(threads);
  const runs = new CellRuns(runner, address?.shown ?? plural(threads, 'thread'), label, quiet, queue);
  const stop = () => runs.stop(noun, outDir);
  const all = async () => {
    const result = await work(runs);
    stop();
    const lines = (queue?.workers ?? []).map(({ name, threads, cells, ranMs }) => {
      const took = `${(ranMs / 1000).toFixed(1)} s of work`;
      return `${name} finished ${plural(cells, 'run')} on ${plural(threads, 'thread')}: ${took}`;
    });
    const { reused } = runs;
    if (reused > 0)
      lines.unshift(`${plural(reused, `finished ${noun}`)} ${reused === 1 ? 'was' : 'were'} reused`);
    if (!quiet) writeErr(lines.map((line) => `${line}\n`).join(''));
    return result;
  };
  return interruptible(all, stop, () => queue?.close()).finally(() => {
    stop();
    return runner.close();
  });
}

async function openQueue(address: QueueAddress): Promise<QueueRunner> {
  // Loaded late: the libraries take a third of a second.
  const { openQueueRunner } = await import('../run/queue/queue-runner.js');
  return openQueueRunner(address, { version: packageVersion(), say });
}

/** Server named by the flags. Throws `E_USAGE` and `E_TLS`. */
export async function addressOf(args: QueueArgs & { readonly queue: string }): Promise<QueueAddress> {
  const { queueAddress } = await import('../run/queue/connection.js');
  const { 'queue-ca': authority, 'queue-password-file': password } = args;
  return queueAddress(args.queue, {
    ...(authority === undefined ? {} : { ca: await authorityIn(authority, 'queue-ca') }),
    ...(password === undefined ? {} : { password: password.secret }),
  });
}

/** Prints a message about the queue that is not progress. */
export function say(what: string): void {
  writeErr(`escapement: ${printable(what)}\n`);
}
