import TinyQueue from 'tinyqueue';
import type { Action } from '../core/action.js';

/** Kinds of events. Completions carry their GPU; deliveries their action. */
export const EXEC_END = 0;
export const LOAD_END = 1;
export const INPUT_END = 2;
export const OUTPUT_END = 3;
export const WORKER_WAKE = 4;
export const CLOCK_CHANGE = 5;
export const DELIVER_ACTION = 6;
export const DELIVER_RESULT = 7;
export const CONDITIONS_CHANGE = 8;
export const GPU_READY = 9;
export const SCALE = 10;
export const CLIENT_LEAVES = 11;
export const GPU_FAILS = 12;
export const GPU_RETURNS = 13;
export type EventKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13;

const KINDS = 14;
/** Events of a worker and of messages to and from it, which are void when its GPU fails. */
const OF_WORKER: readonly EventKind[] = [
  EXEC_END,
  LOAD_END,
  INPUT_END,
  OUTPUT_END,
  WORKER_WAKE,
  DELIVER_ACTION,
  DELIVER_RESULT,
];

/** A future event. Objects are reused once handled. */
export class SimEvent {
  timeNs = 0;
  /** Order of events of one instant: GPUs by id, and within a GPU by kind. */
  rank = 0;
  /** Order of events of equal rank: first scheduled, first handled. */
  sequence = 0;
  kind: EventKind = EXEC_END;
  gpu = 0;
  action: Action | null = null;
  /** Number of the INFER end that an EXEC_END stands for. */
  execEnd = 0;
  /** The GPU's clock after a CLOCK_CHANGE, relative to nominal. */
  clockFactor = 1;
  /** Index of the change that a CONDITIONS_CHANGE stands for. */
  change = 0;
  /** Order of its GPU that a GPU_READY completes. */
  order = 0;
  /** Request of a CLIENT_LEAVES, and its slot. */
  request = 0;
  slot = 0;
}

/**
 * Future events by (time, rank, sequence), so that a run always handles them in the same order. A heap does not
 * preserve the order of equals, so the sequence is part of the comparison.
 */
export class EventQueue {
  private queue = new TinyQueue<SimEvent>([], compare);
  private readonly pool: SimEvent[] = [];
  private sequence = 0;
  /** Time of the next event, Infinity when there is none. */
  nextNs = Number.POSITIVE_INFINITY;

  /** Returns the event, for fields specific to its kind. */
  schedule(timeNs: number, kind: EventKind, gpu: number, action: Action | null): SimEvent {
    const event = this.pool.pop() ?? new SimEvent();
    event.timeNs = timeNs;
    event.rank = gpu * KINDS + kind;
    event.sequence = this.sequence++;
    event.kind = kind;
    event.gpu = gpu;
    event.action = action;
    this.queue.push(event);
    if (timeNs < this.nextNs) this.nextNs = timeNs;
    return event;
  }

  /** Removes the next event; the queue must not be empty. Hand it back with `recycle`. */
  pop(): SimEvent {
    const event = this.queue.pop() as SimEvent;
    const next = this.queue.peek();
    this.nextNs = next === undefined ? Number.POSITIVE_INFINITY : next.timeNs;
    return event;
  }

  /** Drops all events of a GPU's worker. Takes as long as a rebuild of the queue. */
  dropWorker(gpu: number): void {
    const kept = this.queue.data.filter((event) => event.gpu !== gpu || !OF_WORKER.includes(event.kind));
    this.queue = new TinyQueue(kept, compare);
    this.nextNs = this.queue.peek()?.timeNs ?? Number.POSITIVE_INFINITY;
  }

  recycle(event: SimEvent): void {
    event.action = null;
    this.pool.push(event);
  }
}

function compare(a: SimEvent, b: SimEvent): number {
  if (a.timeNs !== b.timeNs) return a.timeNs < b.timeNs ? -1 : 1;
  if (a.rank !== b.rank) return a.rank - b.rank;
  return a.sequence - b.sequence;
}
