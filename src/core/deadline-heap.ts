const INITIAL_CAPACITY = 256;

/**
 * Min-heap of (time, request): which request is due first. Entries are never removed early; whoever pops one
 * checks by its id whether the request still waits.
 * Times mostly arrive in ascending order, which makes a push O(1).
 */
export class DeadlineHeap {
  private times = new Float64Array(INITIAL_CAPACITY);
  private ids = new Float64Array(INITIAL_CAPACITY);
  private slots = new Int32Array(INITIAL_CAPACITY);
  private length = 0;

  get size(): number {
    return this.length;
  }

  /** Earliest time, Infinity when empty. */
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
      const parent = (at - 1) >> 2;
      if (!this.before(timeNs, id, parent)) break;
      this.move(parent, at);
      at = parent;
    }
    this.set(at, timeNs, slot, id);
  }

  pop(): void {
    const last = --this.length;
    if (last === 0) return;
    const timeNs = this.times[last];
    const id = this.ids[last];
    const slot = this.slots[last];
    let at = 0;
    for (;;) {
      const first = at * 4 + 1;
      if (first >= last) break;
      const end = Math.min(first + 4, last);
      let least = first;
      for (let child = first + 1; child < end; child++) {
        if (this.before(this.times[child], this.ids[child], least)) least = child;
      }
      if (!(this.times[least] < timeNs || (this.times[least] === timeNs && this.ids[least] < id))) break;
      this.move(least, at);
      at = least;
    }
    this.set(at, timeNs, slot, id);
  }

  /** Whether (time, id) comes before the entry at `other`. */
  private before(timeNs: number, id: number, other: number): boolean {
    return timeNs < this.times[other] || (timeNs === this.times[other] && id < this.ids[other]);
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from];
    this.ids[to] = this.ids[from];
    this.slots[to] = this.slots[from];
  }

  private set(at: number, timeNs: number, slot: number, id: number): void {
    this.times[at] = timeNs;
    this.ids[at] = id;
    this.slots[at] = slot;
  }

  private grow(): void {
    const capacity = this.times.length * 2;
    const times = new Float64Array(capacity);
    const ids = new Float64Array(capacity);
    const slots = new Int32Array(capacity);
    times.set(this.times);
    ids.set(this.ids);
    slots.set(this.slots);
    this.times = times;
    this.ids = ids;
    this.slots = slots;
  }
}
