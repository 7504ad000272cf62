import { invariant } from '../base/invariant.js';

/** Number of dead entries below which compaction is not worth it. */
const FEW = 64;

/**
 * Items by ascending id, most of them short-lived. A `Map` would leave its old tables behind, each referring to the
 * next: once one of them is in the old generation, the collector keeps all later ones alive.
 */
export class AscendingIds<T extends object> {
  private readonly ids: number[] = [];
  private readonly items: (T | null)[] = [];
  private size = 0;

  /** `id` must be larger than all before it. */
  add(id: number, item: T): void {
    const { ids, items } = this;
    invariant(ids.length === 0 || ids[ids.length - 1] < id, 'ids grow');
    if (ids.length >= FEW && 2 * this.size < ids.length) this.closeGaps();
    ids.push(id);
    items.push(item);
    this.size++;
  }

  /** Item with the id, or null. */
  get(id: number): T | null {
    return this.items[this.placeOf(id)] ?? null;
  }

  /** Removes and returns the item with the id, or null. */
  take(id: number): T | null {
    const place = this.placeOf(id);
    const item = this.items[place] ?? null;
    if (item === null) return null;
    this.items[place] = null;
    this.size--;
    return item;
  }

  clear(): void {
    this.ids.length = 0;
    this.items.length = 0;
    this.size = 0;
  }

  /** Oldest first; entries may be taken during iteration. */
  *[Symbol.iterator](): Generator<T> {
    for (const item of this.items) if (item !== null) yield item;
  }

  /** Index of an id; −1: it never existed, or was removed long ago. */
  private placeOf(id: number): number {
    const { ids } = this;
    let low = 0;
    let high = ids.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (ids[middle] === id) return middle;
      if (ids[middle] < id) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  private closeGaps(): void {
    const { ids, items } = this;
    let kept = 0;
    for (let i = 0; i < items.length; i++) {
      if (items[i] === null) continue;
      ids[kept] = ids[i];
      items[kept] = items[i];
      kept++;
    }
    ids.length = kept;
    items.length = kept;
  }
}
