import type { CellJob } from '../sweep/pool.js';
import type { CellOutcome, CellTask } from '../sweep/run-cell.js';

/** A cell that somebody waits for. */
export interface OpenCell {
  /** Its number within the sweep. */
  readonly cell: number;
  readonly task: CellTask;
  readonly job: CellJob;
  /** How often something came back that is no result. */
  wrong: number;
  /** How often in a row it was missing in the queue; undefined: it is on its way there. */
  missed: number | undefined;
  settle(outcome: CellOutcome): void;
  fail(error: unknown): void;
}

/** What is in the queue is bounded: it is memory of the server, and has to be taken out again after an interruption. */
const LEAST_WINDOW = 1000;
const PER_THREAD = 4;

/** The cells of a sweep that are not finished: those that wait here, and those in the queue. */
export class OpenCells {
  private readonly waiting: OpenCell[] = [];
  private readonly queued = new Map<number, OpenCell>();
  private next = 0;

  add(task: CellTask, job: CellJob): Promise<CellOutcome> {
    return new Promise((settle, fail) => {
      this.waiting.push({ cell: this.next++, task, job, wrong: 0, missed: undefined, settle, fail });
    });
  }

  /** The next cells to put into the queue, at most `most`. They count as being there. */
  take(most: number, threads: number): OpenCell[] {
    const room = Math.max(LEAST_WINDOW, PER_THREAD * threads) - this.queued.size;
    const taken = this.waiting.splice(0, Math.max(0, Math.min(most, room)));
    for (const one of taken) this.queued.set(one.cell, one);
    return taken;
  }

  /** Those in the queue. */
  get inQueue(): readonly OpenCell[] {
    return [...this.queued.values()];
  }

  /** Undefined: it is finished, or never was. */
  find(cell: number): OpenCell | undefined {
    return this.queued.get(cell);
  }

  close({ cell }: OpenCell): void {
    this.queued.delete(cell);
  }

  /** Gives up on all of them. */
  failAll(error: unknown): void {
    for (const one of [...this.queued.values(), ...this.waiting.splice(0)]) one.fail(error);
    this.queued.clear();
  }
}
