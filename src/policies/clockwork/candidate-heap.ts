import { doubled } from '../../base/ring.js';

const INITIAL_CAPACITY = 16;

/**
 * Candidates of one GPU by (priority, batch size, model). Each active instance has at most one entry, the best of its
 * batch sizes: the others could only follow it, and taking it removes them all.
 */
export class CandidateHeap {
  private priorities = new Float64Array(INITIAL_CAPACITY);
  /** Batch index and model in one number that orders like the pair. */
  private keys = new Float64Array(INITIAL_CAPACITY);
  private length = 0;

  constructor(private readonly models: number) {}

  get size(): number {
    return this.length;
  }

  get topModel(): number {
    return this.keys[0] % this.models;
  }

  get topBatchIndex(): number {
    return Math.floor(this.keys[0] / this.models);
  }

  push(priority: number, batchIndex: number, model: number): void {
    if (this.length === this.keys.length) this.grow();
    const key = batchIndex * this.models + model;
    let at = this.length++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.priorities[parent];
      if (above < priority || (above === priority && this.keys[parent] < key)) break;
      this.priorities[at] = above;
      this.keys[at] = this.keys[parent];
      at = parent;
    }
    this.priorities[at] = priority;
    this.keys[at] = key;
  }

  pop(): void {
    const last = --this.length;
    const priority = this.priorities[last];
    const key = this.keys[last];
    const { priorities, keys } = this;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= last) break;
      const right = child + 1;
      if (
        right < last &&
        (priorities[right] < priorities[child] ||
          (priorities[right] === priorities[child] && keys[right] < keys[child]))
      ) {
        child = right;
      }
      if (priority < priorities[child] || (priority === priorities[child] && key < keys[child])) break;
      priorities[at] = priorities[child];
      keys[at] = keys[child];
      at = child;
    }
    priorities[at] = priority;
    keys[at] = key;
  }

  /** Removes the entry of a model, if any. */
  remove(model: number): void {
    const { priorities, keys, models } = this;
    const count = this.length;
    this.length = 0;
    // The write index never overtakes the read index.
    for (let i = 0; i < count; i++) {
      const key = keys[i];
      if (key % models !== model) this.push(priorities[i], Math.floor(key / models), key % models);
    }
  }

  private grow(): void {
    this.priorities = doubled(this.priorities, 0);
    this.keys = doubled(this.keys, 0);
  }
}
