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
  private heap: SimEvent[] = [];

  get first(): SimEvent | undefined {
    return this.heap[0];
  }

  push(event: SimEvent): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  pop(): void {
    const { heap } = this;
    const last = heap.pop() as SimEvent;
    const { length } = heap;
    if (length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
  }

  /** Gives events another time: `atNs` says which; null: it stays. */
  retime(atNs: (event: SimEvent) => number | null): void {
    const events = this.heap.filter(({ run }) => run !== null).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.heap = [];
    for (const event of events) {
      event.atNs = atNs(event) ?? event.atNs;
      this.push(event);
    }
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atNs < b.atNs || (a.atNs === b.atNs && a.sequence < b.sequence);
}
