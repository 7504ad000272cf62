import TinyQueue from 'tinyqueue';
import type { ThreadLoop } from './thread-loop.js';

/** In which part of a turn of its event loop something runs, as in Node: timers, then sockets and messages, then `soon`. */
export type Phase = 0 | 1 | 2;
export const TIMERS: Phase = 0;
export const POLL: Phase = 1;
export const CHECK: Phase = 2;

/** Something that is to happen in a thread at an instant of true time. */
export interface SimEvent {
  atNs: number;
  /** Order among those of one instant. */
  sequence: number;
  readonly loop: ThreadLoop;
  readonly phase: Phase;
  /** When the clock of its machine says so; NaN: it is no timer. */
  dueLocalNs: number;
  /** Null: it was cancelled. */
  run: (() => void) | null;
}

/** Events by (time, sequence). */
export class EventQueue {
  private heap = new TinyQueue<SimEvent>([], compare);

  get first(): SimEvent | undefined {
    return this.heap.peek();
  }

  push(event: SimEvent): void {
    this.heap.push(event);
  }

  pop(): void {
    this.heap.pop();
  }

  /** Gives events another time: `atNs` says which; null: it stays. */
  retime(atNs: (event: SimEvent) => number | null): void {
    const events = this.heap.data.filter(({ run }) => run !== null);
    for (const event of events) event.atNs = atNs(event) ?? event.atNs;
    this.heap = new TinyQueue(events, compare);
  }
}

function compare(a: SimEvent, b: SimEvent): number {
  return a.atNs - b.atNs || a.sequence - b.sequence;
}
