/**
 * How recently each model was used on each GPU. Every use takes the next number of one sequence, and each
 * GPU keeps the models it holds in a list from least to most recently used: renewing is O(1), and the
 * victim of an eviction is found at the front.
 */
export class Recency {
  private sequence: number;
  private readonly used: Float64Array;
  /** Doubly linked lists through the (gpu, model) grid; −1 ends a list. */
  private readonly newer: Int32Array;
  private readonly older: Int32Array;
  private readonly oldestOf: Int32Array;
  private readonly newestOf: Int32Array;
  private readonly listed: Uint8Array;

  constructor(
    gpus: number,
    private readonly models: number,
  ) {
    const cells = gpus * models;
    this.used = new Float64Array(cells);
    this.newer = new Int32Array(cells).fill(-1);
    this.older = new Int32Array(cells).fill(-1);
    this.listed = new Uint8Array(cells);
    this.oldestOf = new Int32Array(gpus).fill(-1);
    this.newestOf = new Int32Array(gpus).fill(-1);
    // Models never used are told apart by their place: later models count as used later.
    for (let model = 0; model < models; model++) {
      for (let gpu = 0; gpu < gpus; gpu++) this.used[gpu * models + model] = model * gpus + gpu;
    }
    this.sequence = cells;
  }

  /** Greater is more recent. */
  rank(gpu: number, model: number): number {
    return this.used[gpu * this.models + model];
  }

  /** Renews the model's number; moves it to the recent end if the GPU lists it. */
  touch(gpu: number, model: number): void {
    const cell = gpu * this.models + model;
    this.used[cell] = this.sequence++;
    if (this.listed[cell] === 0 || this.newestOf[gpu] === model) return;
    this.unlink(gpu, model);
    this.append(gpu, model);
  }

  /** Lists the model among those that the GPU could evict, as the most recent. */
  insert(gpu: number, model: number): void {
    this.listed[gpu * this.models + model] = 1;
    this.append(gpu, model);
  }

  remove(gpu: number, model: number): void {
    const cell = gpu * this.models + model;
    if (this.listed[cell] === 0) return;
    this.listed[cell] = 0;
    this.unlink(gpu, model);
  }

  /** Least recently used of the listed models, or −1. */
  oldest(gpu: number): number {
    return this.oldestOf[gpu];
  }

  /** The next more recently used after `model`, or −1. */
  next(gpu: number, model: number): number {
    return this.newer[gpu * this.models + model];
  }

  private append(gpu: number, model: number): void {
    const base = gpu * this.models;
    const last = this.newestOf[gpu];
    this.older[base + model] = last;
    this.newer[base + model] = -1;
    if (last >= 0) this.newer[base + last] = model;
    else this.oldestOf[gpu] = model;
    this.newestOf[gpu] = model;
  }

  private unlink(gpu: number, model: number): void {
    const base = gpu * this.models;
    const before = this.older[base + model];
    const after = this.newer[base + model];
    if (before >= 0) this.newer[base + before] = after;
    else this.oldestOf[gpu] = after;
    if (after >= 0) this.older[base + after] = before;
    else this.newestOf[gpu] = before;
  }
}
