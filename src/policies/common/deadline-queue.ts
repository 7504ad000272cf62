import { doubled } from '../../base/ring.js';

const INITIAL_CAPACITY = 8;

/**
 * Waiting requests of one model by deadline, first come first served among equal deadlines. A request with the SLO of
 * its predecessors goes to the end, so keeping the order is nearly free; taking a request costs as many moves as there
 * are requests before it.
 */
export class DeadlineQueue {
  length = 0;
  private slots = new Int32Array(INITIAL_CAPACITY);
  private deadlines = new Float64Array(INITIAL_CAPACITY);
  private head = 0;

  /** Slot of the request at `index`, counted from the earliest deadline. */
  slotAt(index: number): number {
    return this.slots[(this.head + index) & (this.slots.length - 1)];
  }

  deadlineNsAt(index: number): number {
    return this.deadlines[(this.head + index) & (this.deadlines.length - 1)];
  }

  push(slot: number, deadlineNs: number): void {
    if (this.length === this.slots.length) this.grow();
    const mask = this.slots.length - 1;
    let at = (this.head + this.length++) & mask;
    for (let left = this.length - 1; left > 0; left--) {
      const before = (at - 1) & mask;
      if (this.deadlines[before] <= deadlineNs) break;
      this.slots[at] = this.slots[before];
      this.deadlines[at] = this.deadlines[before];
      at = before;
    }
    this.slots[at] = slot;
    this.deadlines[at] = deadlineNs;
  }

  /** Removes the request in `slot`, if it is there. Timed-out requests are in front. */
  remove(slot: number): boolean {
    for (let i = 0; i < this.length; i++) {
      if (this.slotAt(i) !== slot) continue;
      this.close(i, 1);
      return true;
    }
    return false;
  }

  /** Index of the first request whose deadline is not before `ns`; `length` if there is none. */
  firstFrom(ns: number): number {
    const mask = this.deadlines.length - 1;
    let index = 0;
    while (index < this.length && this.deadlines[(this.head + index) & mask] < ns) index++;
    return index;
  }

  /** Number of requests ahead of one that arrives now with this deadline. */
  countBefore(deadlineNs: number): number {
    let from = 0;
    let to = this.length;
    // Most arrivals have the latest deadline.
    if (to === 0 || this.deadlineNsAt(to - 1) <= deadlineNs) return to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.deadlineNsAt(middle) <= deadlineNs) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Moves `count` requests starting at `from` into `into`, starting at `at`, by deadline; those before them stay. */
  take(from: number, count: number, into: Int32Array, at = 0): void {
    const mask = this.slots.length - 1;
    for (let i = 0; i < count; i++) into[at + i] = this.slots[(this.head + from + i) & mask];
    this.close(from, count);
  }

  /** Closes a gap from the front. */
  private close(from: number, count: number): void {
    const mask = this.slots.length - 1;
    for (let i = from - 1; i >= 0; i--) {
      const source = (this.head + i) & mask;
      const target = (this.head + i + count) & mask;
      this.slots[target] = this.slots[source];
      this.deadlines[target] = this.deadlines[source];
    }
    this.head = (this.head + count) & mask;
    this.length -= count;
  }

  private grow(): void {
    this.slots = doubled(this.slots, this.head);
    this.deadlines = doubled(this.deadlines, this.head);
    this.head = 0;
  }
}
