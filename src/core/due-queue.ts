import { doubled } from '../base/ring.js';
import { REQUEST_QUEUED, type RequestTable } from './request.js';

const INITIAL_CAPACITY = 256;

/**
 * Requests by due time, earliest first. Entries are never removed early; the code that pops one checks by its id
 * whether the request still waits.
 *
 * Due times ascend as long as all requests have the same SLO: such entries go to a ring with O(1) push and pop, the
 * others to a heap.
 */
export class DueQueue {
  private readonly ring = new DueRing();
  private readonly heap = new DueHeap();

  /** Earliest time, Infinity when empty. A field, since it is read several times per event. */
  topNs = Number.POSITIVE_INFINITY;
  /** True if the first entry is in the heap. */
  private isInHeap = false;

  get size(): number {
    return this.ring.length + this.heap.length;
  }

  get topSlot(): number {
    return this.isInHeap ? this.heap.topSlot : this.ring.topSlot;
  }

  get topId(): number {
    return this.isInHeap ? this.heap.topId : this.ring.topId;
  }

  push(timeNs: number, slot: number, id: number): void {
    if (timeNs >= this.ring.lastNs) this.ring.push(timeNs, slot, id);
    else this.heap.push(timeNs, slot, id);
    this.findTop();
  }

  /** Removes the first entry; the queue must not be empty. */
  pop(): void {
    if (this.isInHeap) this.heap.pop();
    else this.ring.pop();
    this.findTop();
  }

  /** Removes entries at the front, due before `untilNs`, whose requests wait no longer. */
  dropAnswered({ id, state }: Pick<RequestTable, 'id' | 'state'>, untilNs: number): void {
    while (this.topNs < untilNs) {
      const slot = this.topSlot;
      if (state[slot] === REQUEST_QUEUED && id[slot] === this.topId) return;
      this.pop();
    }
  }

  private findTop(): void {
    const { ring, heap } = this;
    this.topNs = ring.topNs;
    this.isInHeap = false;
    if (heap.length > 0) this.compareTops(ring, heap);
  }

  private compareTops(ring: DueRing, heap: DueHeap): void {
    this.isInHeap = heap.topNs < ring.topNs || (heap.topNs === ring.topNs && heap.topId < ring.topId);
    if (this.isInHeap) this.topNs = heap.topNs;
  }
}

/** Entries with ascending times. */
class DueRing {
  private times = new Float64Array(INITIAL_CAPACITY);
  private ids = new Float64Array(INITIAL_CAPACITY);
  private slots = new Int32Array(INITIAL_CAPACITY);
  private head = 0;
  length = 0;
  /** Time of the last entry; −Infinity when empty, so that any time may follow. */
  lastNs = Number.NEGATIVE_INFINITY;
  topNs = Number.POSITIVE_INFINITY;

  get topSlot(): number {
    return this.slots[this.head];
  }

  get topId(): number {
    return this.ids[this.head];
  }

  push(timeNs: number, slot: number, id: number): void {
    if (this.length === this.times.length) this.grow();
    const at = (this.head + this.length++) & (this.times.length - 1);
    this.times[at] = timeNs;
    this.ids[at] = id;
    this.slots[at] = slot;
    this.lastNs = timeNs;
    if (this.length === 1) this.topNs = timeNs;
  }

  pop(): void {
    this.head = (this.head + 1) & (this.times.length - 1);
    this.length--;
    if (this.length > 0) this.topNs = this.times[this.head];
    else {
      this.topNs = Number.POSITIVE_INFINITY;
      this.lastNs = Number.NEGATIVE_INFINITY;
    }
  }

  private grow(): void {
    this.times = doubled(this.times, this.head);
    this.ids = doubled(this.ids, this.head);
    this.slots = doubled(this.slots, this.head);
    this.head = 0;
  }
}

/** Entries in any order; a binary heap by (time, id). */
class DueHeap {
  private times = new Float64Array(INITIAL_CAPACITY);
  private ids = new Float64Array(INITIAL_CAPACITY);
  private slots = new Int32Array(INITIAL_CAPACITY);
  length = 0;

  get topNs(): number {
    return this.length === 0 ? Number.POSITIVE_INFINITY : this.times[0];
  }

  get topSlot(): number {
    return this.slots[0];
  }

  get topId(): number {
    return this.ids[0];
  }

  push(timeNs: number, slot: number, id: number): void {
    if (this.length === this.times.length) this.grow();
    let at = this.length++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.before(parent, timeNs, id)) break;
      this.move(parent, at);
      at = parent;
    }
    this.set(at, timeNs, slot, id);
  }

  pop(): void {
    const last = --this.length;
    const timeNs = this.times[last];
    const id = this.ids[last];
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= last) break;
      if (child + 1 < last && this.before(child + 1, this.times[child], this.ids[child])) child++;
      if (!this.before(child, timeNs, id)) break;
      this.move(child, at);
      at = child;
    }
    this.set(at, timeNs, this.slots[last], id);
  }

  /** True if the entry at `at` precedes (time, id). */
  private before(at: number, timeNs: number, id: number): boolean {
    return this.times[at] < timeNs || (this.times[at] === timeNs && this.ids[at] < id);
  }

  private move(from: number, to: number): void {
    this.set(to, this.times[from], this.slots[from], this.ids[from]);
  }

  private set(at: number, timeNs: number, slot: number, id: number): void {
    this.times[at] = timeNs;
    this.ids[at] = id;
    this.slots[at] = slot;
  }

  private grow(): void {
    this.times = doubled(this.times, 0);
    this.ids = doubled(this.ids, 0);
    this.slots = doubled(this.slots, 0);
  }
}
