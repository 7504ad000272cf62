import type { BitMatrix } from '../../base/bit-matrix.js';
import type { LoadBars } from '../../core/load-bars.js';
import type { Recency } from '../../core/recency.js';

/**
 * Models with demand, by load priority. A max-heap shared by all GPUs: the best model that one GPU lacks is
 * found by walking down from the top, past those it holds. (One sorted list a GPU would cost every change
 * of priority as many updates as there are GPUs.)
 */
export class LoadOrder {
  private readonly heap: Int32Array;
  /** Place in the heap, −1 for models without demand. */
  private readonly place: Int32Array;
  private readonly priority: Float64Array;
  /** Models of the heap that each GPU holds: if it is all of them, there is nothing to load. */
  private readonly holding: Int32Array;
  private length = 0;
  /** Places of the heap still to be looked at: a walk down two sides is never deeper than the heap is long. */
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
    this.place = new Int32Array(models).fill(-1);
    this.priority = new Float64Array(models);
    this.holding = new Int32Array(gpus);
    this.walk = new Int32Array(models + 1);
  }

  /** True if some GPU may lack more of the models than when this was last set to false. */
  grown = false;

  has(model: number): boolean {
    return this.place[model] >= 0;
  }

  /** True if some model with demand is missing on the GPU. */
  wanted(gpu: number): boolean {
    return this.length > this.holding[gpu];
  }

  set(model: number, priority: number): void {
    let at = this.place[model];
    if (at < 0) {
      at = this.length++;
      this.grown = true;
      this.count(model, 1);
    } else if (this.priority[model] === priority) return;
    this.priority[model] = priority;
    this.settle(model, at);
  }

  remove(model: number): void {
    const at = this.place[model];
    if (at < 0) return;
    this.place[model] = -1;
    this.count(model, -1);
    const last = this.heap[--this.length];
    if (last !== model) this.settle(last, at);
  }

  /** The GPU gained (+1) or lost (−1) the model. */
  moved(gpu: number, model: number, by: 1 | -1): void {
    if (this.place[model] < 0) return;
    this.holding[gpu] += by;
    if (by < 0) this.grown = true;
  }

  /** Highest priority among models that the GPU lacks and may load; the more recently used wins a tie. −1: none. */
  best(gpu: number): number {
    const { heap, walk, priority } = this;
    let best = -1;
    let depth = 0;
    if (this.length > 0) walk[depth++] = 0;
    while (depth > 0) {
      const at = walk[--depth];
      const model = heap[at];
      if (best >= 0 && priority[model] < priority[best]) continue;
      if (
        !this.held.has(model, gpu) &&
        !this.bars.has(model, gpu) &&
        (best < 0 || this.beats(gpu, model, best))
      )
        best = model;
      // The better side is looked at first: what it finds often settles the other.
      const left = at * 2 + 1;
      const right = left + 1;
      if (right < this.length) {
        const rightFirst = priority[heap[right]] > priority[heap[left]];
        walk[depth++] = rightFirst ? left : right;
        walk[depth++] = rightFirst ? right : left;
      } else if (left < this.length) walk[depth++] = left;
    }
    return best;
  }

  private beats(gpu: number, model: number, other: number): boolean {
    const difference = this.priority[model] - this.priority[other];
    return (
      difference > 0 || (difference === 0 && this.recency.rank(gpu, model) > this.recency.rank(gpu, other))
    );
  }

  private count(model: number, by: number): void {
    const { held, holding } = this;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) holding[gpu] += by;
  }

  /** Puts the model at its place, starting from a free one. */
  private settle(model: number, from: number): void {
    const { heap, priority } = this;
    const mine = priority[model];
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (priority[heap[parent]] >= mine) break;
      this.put(heap[parent], at);
      at = parent;
    }
    for (;;) {
      let child = at * 2 + 1;
      if (child >= this.length) break;
      if (child + 1 < this.length && priority[heap[child + 1]] > priority[heap[child]]) child++;
      if (priority[heap[child]] <= mine) break;
      this.put(heap[child], at);
      at = child;
    }
    this.put(model, at);
  }

  private put(model: number, at: number): void {
    this.heap[at] = model;
    this.place[model] = at;
  }
}
