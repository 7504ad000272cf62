import { setTimeout } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { compiledNextTo } from '../../base/compiled.js';
import { type CellOutcome, type CellTask, failedOutcome } from './run-cell.js';

/** Job of a cell: the functions of run-cell.ts by name. */
export type CellJob = 'runCell' | 'boundCell';

/** Runs cells in parallel. */
export interface CellRunner {
  /** Number of cells worth handing over at a time. */
  readonly width: number;
  /** Default `job`: `runCell`. */
  run(task: CellTask, job?: CellJob): Promise<CellOutcome>;
  /** Ends the threads; running cells are lost. */
  close(): Promise<void>;
}

/**
 * V8 compiles for a thread in the background, and continues for a moment after its last cell. Node 20 aborts the whole
 * process if the thread is ended meanwhile and a collection is due ("Assertion failed: (data.first) != nullptr").
 */
const COMPILE_MS = 100;

/**
 * Runs cells on up to `threads` worker threads, in the order in which they are handed over. Threads start with the first
 * cells.
 */
export function threadPool(threads: number): CellRunner {
  let opened: Piscina<CellTask, CellOutcome> | undefined;
  let running = 0;
  const open = () =>
    new Piscina<CellTask, CellOutcome>({
      filename: compiledNextTo(import.meta.url, 'worker.cjs').href,
      // One replaces a thread that dies while others wait for it.
      ...{ minThreads: 1, maxThreads: threads, idleTimeout: Number.POSITIVE_INFINITY },
    });
  return {
    // While a result is stored, its thread has the next cell.
    width: 2 * threads,
    // A thread that dies (out of memory) fails its cell, not the sweep.
    run: (task, job = 'runCell') => {
      opened ??= open();
      running++;
      return opened
        .run(task, { name: job })
        .catch(failedOutcome)
        .finally(() => running--);
    },
    close: async () => {
      if (opened === undefined) return;
      if (running === 0) await setTimeout(COMPILE_MS);
      // A result that arrives while its thread ends has no owner: piscina reports an error.
      opened.on('error', () => {});
      await opened.destroy();
    },
  };
}
