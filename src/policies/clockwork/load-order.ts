import { BitMatrix } from '../../base/bit-matrix.js';
import type { LoadBars } from '../../core/load-bars.js';
import type { Recency } from '../../core/recency.js';

/**
 * Models with demand, by load priority. A max-heap shared by all GPUs: the best model that a GPU lacks is found by
 * walking down from the top, past those it holds. (With a sorted list per GPU, each change of priority would cost as
 * many updates as there are GPUs.)
 */
export class LoadOrder {
  private readonly heap: Int32Array;
  /** Priorities in heap order, so that a walk reads them contiguously. */
  private readonly keys: Float64Array;
  /** Position in the heap, −1 for models without demand. */
  private readonly place: Int32Array;
  /** By GPU: number of the heap's models that it holds; if all, there is nothing to load. */
  private readonly holding: Int32Array;
  /** Row = GPU: models that it holds. A search asks one GPU about many models, so its row stays in the cache. */
  private readonly heldBy: BitMatrix;
  private length = 0;
  /** Heap positions still to visit: the walk's stack is never longer than the heap. */
  private readonly walk: Int32Array;

  constructor(
    models: number,
    gpus: number,
    /** Row = model: GPUs that hold it or are loading it. */
    private readonly held: BitMatrix,
    private readonly recency: Recency,
    private readonly bars: LoadBars,
  ) {
    this.heap = new Int32Array(models);
    this.keys = new Float64Array(models);
    this.place = new Int32Array(models).fill(-1);
    this.holding = new Int32Array(gpus);
    this.heldBy = new BitMatrix(gpus, models);
    this.walk = new Int32Array(models + 1);
  }

  /** True if some GPU may lack more of the models than when this was last set to false. */
  grown = false;

  /** True if the GPU lacks some model with demand. */
  wanted(gpu: number): boolean {
    return this.length > this.holding[gpu];
  }

  set(model: number, priority: number): void {
    let at = this.place[model];
    if (at < 0) {
      at = this.length++;
      this.grown = true;
      this.count(model, 1);
    } else if (this.keys[at] === priority) return;
    this.settle(model, priority, at);
  }

  remove(model: number): void {
    const at = this.place[model];
    if (at < 0) return;
    this.place[model] = -1;
    this.count(model, -1);
    const last = --this.length;
    if (last !== at) this.settle(this.heap[last], this.keys[last], at);
  }

  /** Records that the GPU gained (+1) or lost (−1) the model. */
  moved(gpu: number, model: number, by: 1 | -1): void {
    if (by > 0) this.heldBy.add(gpu, model);
    else this.heldBy.delete(gpu, model);
    if (this.place[model] < 0) return;
    this.holding[gpu] += by;
    if (by < 0) this.grown = true;
  }

  /** Highest priority among models that the GPU lacks and may load; the more recently used wins a tie. −1: none. */
  best(gpu: number): number {
    const { heap, keys, walk, heldBy, bars, recency, length } = this;
    let best = -1;
    let bestKey = Number.NEGATIVE_INFINITY;
    let bestRank = 0;
    let depth = 0;
    if (length > 0) walk[depth++] = 0;
    while (depth > 0) {
      const at = walk[--depth];
      const key = keys[at];
      if (key < bestKey) continue;
      const model = heap[at];
      if (!heldBy.has(gpu, model)) {
        const rank = recency.rank(gpu, model);
        if ((best < 0 || key > bestKey || rank > bestRank) && !bars.has(model, gpu)) {
          best = model;
          bestKey = key;
          bestRank = rank;
        }
      }
      // The better side first, since its result often rules out the other.
      const left = at * 2 + 1;
      const right = left + 1;
      const hasRight = right < length && keys[right] >= bestKey;
      const rightFirst = hasRight && keys[right] > keys[left];
      if (hasRight && !rightFirst) walk[depth++] = right;
      if (left < length && keys[left] >= bestKey) walk[depth++] = left;
      if (rightFirst) walk[depth++] = right;
    }
    return best;
  }

  private count(model: number, by: number): void {
    const { held, holding } = this;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) holding[gpu] += by;
  }

  /** Places the model in the heap, starting from a free position. */
  private settle(model: number, key: number, from: number): void {
    const { heap, keys, length } = this;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent] >= key) break;
      this.put(heap[parent], keys[parent], at);
      at = parent;
    }
    for (;;) {
      let child = at * 2 + 1;
      if (child >= length) break;
      if (child + 1 < length && keys[child + 1] > keys[child]) child++;
      if (keys[child] <= key) break;
      this.put(heap[child], keys[child], at);
      at = child;
    }
    this.put(model, key, at);
  }

  private put(model: number, key: number, at: number): void {
    this.heap[at] = model;
    this.keys[at] = key;
    this.place[model] = at;
  }
}
