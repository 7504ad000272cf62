/**
 * Things that come and go by the thousand, each in a slot that is used again. A `Map` or `Set` would leave its old tables
 * behind, each of which refers to the next one: once one of them is old, the collector takes all that come after it, and
 * what they held, for alive.
 */
export class Slots<T extends object> {
  private readonly items: (T | null)[] = [];
  private readonly free: number[] = [];

  /** Returns its slot. */
  add(item: T): number {
    const slot = this.free.pop() ?? this.items.length;
    this.items[slot] = item;
    return slot;
  }

  /** Empties a slot and returns what was in it; null: nothing. */
  take(slot: number): T | null {
    const item = this.items[slot] ?? null;
    if (item === null) return null;
    this.items[slot] = null;
    this.free.push(slot);
    return item;
  }

  /** All there are; more may come and go meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const item of this.items) if (item !== null) yield item;
  }
}
