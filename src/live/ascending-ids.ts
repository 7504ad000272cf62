import { invariant } from '../base/invariant.js';

/** Fewer are not worth moving. */
const FEW = 64;

/**
 * Things by ids that only ever grow, most of which go soon after they came. A `Map` would leave its old tables behind, each
 * of which refers to the next one: once one of them is old, the collector takes all that come after it for alive.
 */
export class AscendingIds<T extends object> {
  private readonly ids: number[] = [];
  private readonly items: (T | null)[] = [];
  private size = 0;

  /** `id` is larger than all before it. */
  add(id: number, item: T): void {
    const { ids, items } = this;
    invariant(ids.length === 0 || ids[ids.length - 1] < id, 'ids grow');
    if (ids.length >= FEW && 2 * this.size < ids.length) this.closeGaps();
    ids.push(id);
    items.push(item);
    this.size++;
  }

  /** What has the id; null: nothing. */
  get(id: number): T | null {
    return this.items[this.placeOf(id)] ?? null;
  }

  /** The same, which is gone then. */
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

  /** The oldest first; they may be taken meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const item of this.items) if (item !== null) yield item;
  }

  /** −1: it never came, or went long ago. */
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
