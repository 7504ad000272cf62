const INITIAL_CAPACITY = 8;
/** Capacity from which a line drops timed-out requests (of a model that is never loaded) before it grows. */
const TRIM_CAPACITY = 1024;

/**
 * Waiting requests of one model, first come first served, as seen by each batch size. Every batch size has its own
 * position in the same line: a request that can no longer finish in a batch of 8 may still do so in a batch of 1, so
 * dropping it for one size keeps it for the others.
 */
export class BatchQueue {
  /** Ring indexed by absolute position: the slot at each. */
  private slots = new Int32Array(INITIAL_CAPACITY);
  private ids = new Float64Array(INITIAL_CAPACITY);
  private deadlines = new Float64Array(INITIAL_CAPACITY);
  private tail = 0;
  /** Lower bound on the positions that any size still sees; may lag behind. */
  private oldest = 0;
  /** By batch size: position of the first request that it has not dropped. */
  private readonly heads: Float64Array;

  constructor(sizes: number) {
    this.heads = new Float64Array(sizes);
  }

  /** Number of requests left for batch size `index`, including timed-out ones not yet dropped. */
  length(index: number): number {
    return this.tail - this.heads[index];
  }

  /** True if no batch size has any request left. */
  get isEmpty(): boolean {
    const { heads, tail } = this;
    for (let i = 0; i < heads.length; i++) {
      if (heads[i] < tail) return false;
    }
    return true;
  }

  /** Deadline of the first request left for batch size `index`. There must be one. */
  headDeadlineNs(index: number): number {
    return this.deadlines[this.heads[index] & (this.deadlines.length - 1)];
  }

  /** Slot of the first request left for batch size `index`. There must be one. */
  headSlot(index: number): number {
    return this.slots[this.heads[index] & (this.slots.length - 1)];
  }

  push(slot: number, id: number, deadlineNs: number, nowNs: number): void {
    if (this.tail - this.oldest === this.slots.length) this.makeRoom(nowNs);
    const at = this.tail & (this.slots.length - 1);
    this.slots[at] = slot;
    this.ids[at] = id;
    this.deadlines[at] = deadlineNs;
    this.tail++;
  }

  /** Drops, for batch size `index`, requests at the front whose deadline is before `ns`. */
  dropBefore(index: number, ns: number): void {
    const mask = this.slots.length - 1;
    let head = this.heads[index];
    while (head < this.tail && this.deadlines[head & mask] < ns) head++;
    this.heads[index] = head;
  }

  /**
   * Moves up to `most` requests from the front of batch size `index` into `into`, and removes them and all before them
   * for every size. Skips requests whose slot has been reused (per `ids`). Returns the number taken.
   */
  take(
    index: number,
    most: number,
    into: Int32Array,
    ids: Float64Array,
    states: Uint8Array,
    waiting: number,
  ): number {
    const mask = this.slots.length - 1;
    let position = this.heads[index];
    let taken = 0;
    while (taken < most && position < this.tail) {
      const at = position & mask;
      const slot = this.slots[at];
      if (ids[slot] === this.ids[at] && states[slot] === waiting) into[taken++] = slot;
      position++;
    }
    for (let i = 0; i < this.heads.length; i++) {
      if (this.heads[i] < position) this.heads[i] = position;
    }
    return taken;
  }

  /** Removes a request for every size, wherever it is in the line; those before it move up. */
  remove(slot: number, id: number): void {
    const { slots, ids, deadlines, heads } = this;
    const mask = slots.length - 1;
    const first = Math.min(...heads);
    let position = first;
    while (position < this.tail && (slots[position & mask] !== slot || ids[position & mask] !== id))
      position++;
    if (position === this.tail) return;
    for (let i = 0; i < heads.length; i++) if (heads[i] <= position) heads[i]++;
    for (; position > first; position--) {
      const to = position & mask;
      const from = (position - 1) & mask;
      slots[to] = slots[from];
      ids[to] = ids[from];
      deadlines[to] = deadlines[from];
    }
  }

  private makeRoom(nowNs: number): void {
    if (this.slots.length >= TRIM_CAPACITY) {
      for (let i = 0; i < this.heads.length; i++) this.dropBefore(i, nowNs);
    }
    let oldest = this.tail;
    for (let i = 0; i < this.heads.length; i++) oldest = Math.min(oldest, this.heads[i]);
    this.oldest = oldest;
    if (this.tail - oldest === this.slots.length) this.grow();
  }

  private grow(): void {
    const before = this.slots.length;
    const slots = new Int32Array(before * 2);
    const ids = new Float64Array(before * 2);
    const deadlines = new Float64Array(before * 2);
    for (let position = this.oldest; position < this.tail; position++) {
      const from = position & (before - 1);
      const to = position & (before * 2 - 1);
      slots[to] = this.slots[from];
      ids[to] = this.ids[from];
      deadlines[to] = this.deadlines[from];
    }
    this.slots = slots;
    this.ids = ids;
    this.deadlines = deadlines;
  }
}
