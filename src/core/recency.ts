import { grown } from '../base/grown.js';

const NONE = -1;

/**
 * Recency of use of each model on each GPU. Every use takes the next number of one sequence, and each GPU lists its
 * evictable models from least to most recently used: renewal is O(1), and the eviction victim is at the front.
 *
 * A GPU lists a small part of all models. Lists run through slots allocated to listed models only, so that walking one
 * stays within a few cache lines whatever the number of models.
 */
export class Recency {
  private sequence: number;
  /** By GPU and model: number of the last use; slot in the GPU's list, −1 if unlisted. */
  private readonly used: Float64Array;
  private readonly slotOf: Int32Array;
  private readonly lists: readonly RecencyList[];

  constructor(
    gpus: number,
    private readonly models: number,
  ) {
    this.used = new Float64Array(gpus * models);
    this.slotOf = new Int32Array(gpus * models).fill(NONE);
    this.lists = Array.from({ length: gpus }, () => new RecencyList());
    // Models never used are ordered by index: later ones count as used later.
    for (let model = 0; model < models; model++) {
      for (let gpu = 0; gpu < gpus; gpu++) this.used[gpu * models + model] = model * gpus + gpu;
    }
    this.sequence = gpus * models;
  }

  /** Number of the model's last use; greater is more recent. */
  rank(gpu: number, model: number): number {
    return this.used[gpu * this.models + model];
  }

  /** Renews the model's number, and moves it to the recent end if the GPU lists it. */
  touch(gpu: number, model: number): void {
    const cell = gpu * this.models + model;
    this.used[cell] = this.sequence++;
    const slot = this.slotOf[cell];
    if (slot !== NONE) this.lists[gpu].renew(slot);
  }

  /** Adds the model to the GPU's evictable ones, as the most recent. */
  insert(gpu: number, model: number): void {
    this.slotOf[gpu * this.models + model] = this.lists[gpu].append(model);
  }

  remove(gpu: number, model: number): void {
    const cell = gpu * this.models + model;
    if (this.slotOf[cell] === NONE) return;
    this.lists[gpu].remove(this.slotOf[cell]);
    this.slotOf[cell] = NONE;
  }

  /** Resets the model to never used on any GPU; no list may hold it. */
  forget(model: number): void {
    const gpus = this.lists.length;
    for (let gpu = 0; gpu < gpus; gpu++) this.used[gpu * this.models + model] = model * gpus + gpu;
  }

  /** List of the GPU: walk from `oldest` by `newer`. */
  list(gpu: number): RecencyList {
    return this.lists[gpu];
  }
}

/** Models of one GPU from least to most recently used: a doubly linked list through slots. */
class RecencyList {
  /** Slot of the least recently used model, −1 when empty. */
  oldest = NONE;
  private newest = NONE;
  private models = new Int32Array(16);
  private newerOf = new Int32Array(16);
  private olderOf = new Int32Array(16);
  private readonly free: number[] = [];
  private slots = 0;

  /** Model in a slot. */
  model(slot: number): number {
    return this.models[slot];
  }

  /** Slot of the next more recently used model, −1 at the end. */
  newer(slot: number): number {
    return this.newerOf[slot];
  }

  /** Adds a model as the most recent; returns its slot. */
  append(model: number): number {
    const slot = this.free.length > 0 ? (this.free.pop() as number) : this.slots++;
    if (slot === this.models.length) this.grow();
    this.models[slot] = model;
    this.link(slot);
    return slot;
  }

  remove(slot: number): void {
    this.unlink(slot);
    this.free.push(slot);
  }

  /** Makes a slot the most recent. */
  renew(slot: number): void {
    if (slot === this.newest) return;
    this.unlink(slot);
    this.link(slot);
  }

  private link(slot: number): void {
    this.olderOf[slot] = this.newest;
    this.newerOf[slot] = NONE;
    if (this.newest === NONE) this.oldest = slot;
    else this.newerOf[this.newest] = slot;
    this.newest = slot;
  }

  private unlink(slot: number): void {
    const before = this.olderOf[slot];
    const after = this.newerOf[slot];
    if (before === NONE) this.oldest = after;
    else this.newerOf[before] = after;
    if (after === NONE) this.newest = before;
    else this.olderOf[after] = before;
  }

  private grow(): void {
    this.models = grown(this.models, 2 * this.slots);
    this.newerOf = grown(this.newerOf, 2 * this.slots);
    this.olderOf = grown(this.olderOf, 2 * this.slots);
  }
}
