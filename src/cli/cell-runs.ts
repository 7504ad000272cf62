import { usableCores } from '../base/limits/usable.js';
import { printable } from '../base/printable.js';
import type { QueueAddress } from '../run/queue/connection.js';
import type { openQueueRunner } from '../run/queue/queue-runner.js';
import { type CellsRequest, type Found, threadPool } from '../run/sweep/pool.js';
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

interface CellArgs<Seeds> extends QueueArgs {
  readonly file: string;
  readonly seeds: Seeds;
  readonly set: readonly string[];
  readonly fresh: boolean;
  readonly queue: string | undefined;
  readonly threads: number | undefined;
  readonly quiet: boolean;
}

/** Largest number of workers named in a progress line; further ones are only counted. */
const MOST_NAMED = 3;

/** Names of a command's cells in messages, and the folder that keeps them. */
interface Words {
  readonly label: string;
  readonly noun: 'cell' | 'run';
  readonly outDir: string | undefined;
}

/** Progress of a command's cells. */
class CellRuns {
  reused = 0;
  /** Number of cells; 0 until they start. */
  total = 0;
  private known = 0;
  private failed = 0;
  private isAbout = false;
  private progress: Progress | undefined;

  constructor(
    private readonly words: Words,
    /** Where they run. */
    readonly place: string,
    private readonly quiet: boolean,
    private readonly queue: QueueRunner | null,
  ) {}

  /** Announces the work, with the exact or approximate number of cells. */
  begin(total: number, said: string, isAbout = false): void {
    this.total = total;
    this.isAbout = isAbout;
    if (!this.quiet) writeErr(said);
    this.progress = openProgress(this.words.label, this.quiet);
  }

  /** Counts a finished cell, whatever its result, and shows progress. */
  count(found: Found): void {
    this.known++;
    if (found.status === 'failed') this.failed++;
    else if (found.reused) this.reused++;
    const { known, total, failed, isAbout } = this;
    const { noun } = this.words;
    const workers = this.queue?.workers ?? [];
    const notes = [
      isAbout ? plural(known, noun) : `${known}/${total} ${noun}s`,
      ...(failed === 0 ? [] : [`${failed} failed`]),
      ...(workers.length > MOST_NAMED
        ? [plural(workers.length, 'worker')]
        : workers.map(({ name, cells }) => `${name} ${cells}`)),
    ];
    this.progress?.update(Math.min(isAbout ? 0.99 : 1, known / total), notes.join(', '));
  }

  /**
   * Ends the display of progress. Returns a sentence about the results that a repeated command will find in its folder.
   */
  stop(): string {
    const { noun, outDir } = this.words;
    this.progress?.stop();
    if (outDir === undefined) return 'no run is kept without --out';
    const of = this.isAbout ? '' : ` of ${this.total}`;
    return `${this.known - this.failed}${of} ${noun}s are kept in ${outDir}; repeat the command to resume`;
  }
}

/**
 * Runs cells on threads of this machine or on the workers of a queue, with progress, until done or interrupted. `work`
 * gets what the flags say of them.
 */
export async function runCells<T, Seeds extends string | undefined>(
  { quiet, threads = usableCores(), queue: server, file, seeds, set, fresh, ...trust }: CellArgs<Seeds>,
  words: Words,
  work: (request: CellsRequest<Seeds>, runs: CellRuns) => Promise<T>,
): Promise<T> {
  const address = server === undefined ? null : await addressOf({ ...trust, queue: server });
  const queue = address === null ? null : await openQueue(address);
  const runner = queue ?? threadPool(threads);
  const runs = new CellRuns(words, address?.shown ?? plural(threads, 'thread'), quiet, queue);
  const request: CellsRequest<Seeds> = {
    ...{ file, seeds, overrides: set, fresh, outDir: words.outDir, runner, version: packageVersion() },
    onUnit: ({ job }, found) => {
      if (job === 'runCell') runs.count(found);
    },
  };
  const all = async () => {
    const result = await work(request, runs);
    runs.stop();
    const lines = (queue?.workers ?? []).map(({ name, threads, cells, ranMs }) => {
      const took = `${(ranMs / 1000).toFixed(1)} s of work`;
      return `${name} finished ${plural(cells, 'run')} on ${plural(threads, 'thread')}: ${took}`;
    });
    const { reused } = runs;
    if (reused > 0)
      lines.unshift(`${plural(reused, `finished ${words.noun}`)} ${reused === 1 ? 'was' : 'were'} reused`);
    if (!quiet) writeErr(lines.map((line) => `${line}\n`).join(''));
    return result;
  };
  return interruptible(
    all,
    () => runs.stop(),
    () => queue?.close(),
  ).finally(() => {
    runs.stop();
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
