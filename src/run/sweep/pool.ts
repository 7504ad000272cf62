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

/** Opens a runner of cells; `most`: upper bound on their number. */
export type OpenRunner = (most?: number) => CellRunner;

/**
 * V8 compiles for a thread in the background, and continues for a moment after its last cell. Node 20 aborts the whole
 * process if the thread is ended meanwhile and a collection is due ("Assertion failed: (data.first) != nullptr").
 */
const COMPILE_MS = 100;

/** Runs cells on `threads` worker threads, in the order in which they are handed over. */
export function threadPool(threads: number): CellRunner {
  const pool = new Piscina<CellTask, CellOutcome>({
    filename: compiledNextTo(import.meta.url, 'worker.cjs').href,
    minThreads: threads,
    maxThreads: threads,
  });
  let running = 0;
  return {
    // While a result is stored, its thread has the next cell.
    width: 2 * threads,
    // A thread that dies (out of memory) fails its cell, not the sweep.
    run: (task, job = 'runCell') => {
      running++;
      return pool
        .run(task, { name: job })
        .catch(failedOutcome)
        .finally(() => running--);
    },
    close: async () => {
      if (running === 0) await setTimeout(COMPILE_MS);
      // A result that arrives while its thread ends has no owner: piscina reports an error.
      pool.on('error', () => {});
      await pool.destroy();
    },
  };
}
