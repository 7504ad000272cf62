import { usableCores } from '../base/limits/usable.js';
import { type OpenRunner, threadPool } from '../run/sweep/pool.js';
import { writeErr } from '../text/terminal.js';
import { interruptible } from './interruption.js';
import { openProgress, type Progress } from './progress.js';
import { openQueue, type QueueArgs } from './queue.js';

interface CellArgs extends QueueArgs {
  readonly threads: number | undefined;
  readonly quiet: boolean;
}

interface Words {
  readonly label: string;
  /** Name for reused cells in the report; absent: not reported. */
  readonly noun?: string;
  /** Text about the results that remain after an interruption. */
  kept(runs: CellRuns): string;
}

/** Progress of a command's cells. */
export class CellRuns {
  known = 0;
  reused = 0;
  failed = 0;
  /** 0 until they start. */
  total = 0;
  private progress: Progress | undefined;

  constructor(
    readonly openRunner: OpenRunner,
    /** Where they run. */
    readonly place: string,
    private readonly label: string,
    private readonly quiet: boolean,
    private readonly workers: () => string,
  ) {}

  /** Announces the work, and expects this many cells. */
  begin(total: number, said: string): void {
    this.total = total;
    if (!this.quiet) writeErr(said);
    this.progress = openProgress(this.label, this.quiet);
  }

  /** Counts a finished cell, whatever its result. */
  count(found: { readonly status: 'done' | 'failed'; readonly reused?: boolean }): void {
    this.known++;
    if (found.status === 'failed') this.failed++;
    else if (found.reused) this.reused++;
  }

  show(note: string, most = 1): void {
    this.progress?.update(Math.min(most, this.known / this.total), `${note}${this.workers()}`);
  }

  stop(): void {
    this.progress?.stop();
  }
}

/** Runs cells on threads of this machine or on the workers of a queue, with progress, until done or interrupted. */
export async function runCells<T>(
  args: CellArgs,
  { label, noun, kept }: Words,
  work: (runs: CellRuns) => Promise<T>,
): Promise<T> {
  const { quiet, threads = usableCores() } = args;
  const queue = await openQueue(args);
  const openRunner: OpenRunner = (most = threads) => queue?.runner ?? threadPool(Math.min(threads, most));
  const place = queue?.place ?? `${threads} threads`;
  const runs = new CellRuns(openRunner, place, label, quiet, () => queue?.note() ?? '');
  const all = async () => {
    const result = await work(runs);
    runs.stop();
    if (quiet) return result;
    if (runs.reused > 0 && noun !== undefined) writeErr(`${runs.reused} finished ${noun} were reused\n`);
    writeErr(queue?.report() ?? '');
    return result;
  };
  const interrupted = () => {
    runs.stop();
    return kept(runs);
  };
  return interruptible(all, interrupted, () => queue?.close()).finally(() => {
    runs.stop();
    return queue?.close();
  });
}
