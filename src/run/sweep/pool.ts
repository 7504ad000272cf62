import { setTimeout } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { compiledNextTo } from '../../base/compiled.js';
import type { BoundFigures, CellResult } from '../../record/results.js';
import { type CellOutcome, type CellTask, type FailedOutcome, failedOutcome } from './run-cell.js';

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

/** A unit of work stored under its own key: a cell, or a bound that cells share. */
export interface Unit {
  /** Its name in messages. */
  readonly id: string;
  readonly task: CellTask;
  readonly job: CellJob;
}

/** Result of a unit; `reused`: it was stored before. */
export type Found =
  | { readonly status: 'done'; readonly result: CellResult | BoundFigures; readonly reused: boolean }
  | FailedOutcome;

/** Called for each unit as soon as its result is known. */
export type OnUnit = (unit: Unit, found: Found) => void;

/** Runs of one experiment that a command asks for. */
export interface CellsRequest<Seeds extends string | undefined = string> {
  readonly file: string;
  /** `--seeds`. */
  readonly seeds: Seeds;
  /** `--set` flags, for every run. */
  readonly overrides: readonly string[];
  /** Folder for finished runs, so that an interrupted command can continue; undefined: not kept. */
  readonly outDir: string | undefined;
  /** Repeats the runs kept there. */
  readonly fresh: boolean;
  readonly runner: CellRunner;
  /** Version of the program: results of another version are not reused. */
  readonly version: string;
  readonly onUnit: OnUnit;
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
