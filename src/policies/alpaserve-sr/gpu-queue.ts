import { doubled } from '../../base/ring.js';
import type { Cluster } from '../../core/cluster.js';

const INITIAL_CAPACITY = 16;

/**
 * First-come-first-served queue of one GPU. A request joins the last batch if that is of its model and would still be
 * in time, or else follows it as a batch of its own, or else is not taken. So each batch, and its end, is known as soon
 * as it is queued. Deadlines are those to plan for.
 */
export class GpuQueue {
  length = 0;
  /** Expected time of the whole queue. */
  backlogNs = 0;
  /** Ring with one entry per request. `opens` is 1 at the first of each batch, and `batchNs` there its duration. */
  private slots = new Int32Array(INITIAL_CAPACITY);
  private models = new Int32Array(INITIAL_CAPACITY);
  private deadlines = new Float64Array(INITIAL_CAPACITY);
  private opens = new Uint8Array(INITIAL_CAPACITY);
  private batchNs = new Float64Array(INITIAL_CAPACITY);
  private head = 0;
  /** Number of requests of the last batch, 0 if there is none, and the earliest of their deadlines. */
  private lastCount = 0;
  private lastDeadlineNs = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly gpu: number,
    /** By model: number of usable batch sizes. */
    private readonly sizes: Int32Array,
  ) {}

  /** Model of the first request. There must be one. */
  get model(): number {
    return this.models[this.head];
  }

  has(model: number): boolean {
    for (let i = 0; i < this.length; i++) {
      if (this.models[this.at(i)] === model) return true;
    }
    return false;
  }

  /** Queues the request unless it would be late, given that the GPU starts the queue at `freeNs`. */
  offer(slot: number, model: number, deadlineNs: number, freeNs: number): boolean {
    const endNs = freeNs + this.backlogNs;
    if (this.lastCount > 0) {
      const first = this.at(this.length - this.lastCount);
      if (this.models[first] === model && this.lastCount < this.largest(model)) {
        const addedNs = this.execNs(model, this.lastCount + 1) - this.batchNs[first];
        if (endNs + addedNs <= Math.min(deadlineNs, this.lastDeadlineNs)) {
          this.append(slot, model, deadlineNs);
          this.batchNs[this.at(this.length - 1 - this.lastCount)] += addedNs;
          this.backlogNs += addedNs;
          this.lastCount++;
          this.lastDeadlineNs = Math.min(deadlineNs, this.lastDeadlineNs);
          return true;
        }
      }
    }
    const aloneNs = this.execNs(model, 1);
    if (endNs + aloneNs > deadlineNs) return false;
    const at = this.append(slot, model, deadlineNs);
    this.opens[at] = 1;
    this.batchNs[at] = aloneNs;
    this.backlogNs += aloneNs;
    this.lastCount = 1;
    this.lastDeadlineNs = deadlineNs;
    return true;
  }

  /**
   * Moves the requests of the first batch into `into`, or as many of them as can still be in time together; returns
   * their number. If execution took longer than expected, requests that can no longer be in time are dropped from the
   * queue.
   */
  take(nowNs: number, into: Int32Array): number {
    while (this.length > 0 && this.deadlines[this.head] < nowNs + this.execNs(this.model, 1)) this.shift();
    let count = this.headCount();
    while (count > 1 && this.earliest(count) < nowNs + this.execNs(this.model, count)) count--;
    for (let i = 0; i < count; i++) into[i] = this.slots[this.at(i)];
    this.drop(count);
    return count;
  }

  /** Removes the first request from the queue, which must not be empty. */
  shift(): number {
    const slot = this.slots[this.head];
    this.drop(1);
    return slot;
  }

  /** Removes a request from the queue, if it is there. */
  remove(slot: number): boolean {
    for (let i = 0; i < this.length; i++) {
      if (this.slots[this.at(i)] !== slot) continue;
      if (i + 1 < this.length && this.opens[this.at(i)] === 1) this.opens[this.at(i + 1)] = 1;
      for (let j = i; j > 0; j--) this.copy(this.at(j - 1), this.at(j));
      this.head = this.at(1);
      this.length--;
      this.reckon();
      return true;
    }
    return false;
  }

  /** Index of the batch size that runs this many requests. */
  sizeFor(model: number, count: number): number {
    const { batchSizes } = this.cluster.models[model];
    let index = 0;
    while (batchSizes[index] < count) index++;
    return index;
  }

  private execNs(model: number, count: number): number {
    return this.cluster.execNs(this.gpu, model, this.sizeFor(model, count));
  }

  private largest(model: number): number {
    return this.cluster.models[model].batchSizes[this.sizes[model] - 1];
  }

  private headCount(): number {
    let count = Math.min(1, this.length);
    while (count > 0 && count < this.length && this.opens[this.at(count)] === 0) count++;
    return count;
  }

  private earliest(count: number): number {
    let earliestNs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) earliestNs = Math.min(earliestNs, this.deadlines[this.at(i)]);
    return earliestNs;
  }

  /** Removes this many requests from the front, all of them in the first batch. */
  private drop(count: number): void {
    if (count === 0) return;
    const isWhole = count === this.headCount();
    const wholeNs = this.batchNs[this.head];
    this.head = this.at(count);
    this.length -= count;
    if (isWhole && this.length > 0) this.backlogNs -= wholeNs;
    else {
      if (this.length > 0) this.opens[this.head] = 1;
      this.reckon();
    }
  }

  /** Recomputes the duration of each batch. */
  private reckon(): void {
    this.backlogNs = 0;
    this.lastCount = 0;
    let first = 0;
    for (let i = 0; i < this.length; i++) {
      const at = this.at(i);
      if (this.opens[at] === 1) {
        first = at;
        this.lastCount = 0;
        this.lastDeadlineNs = Number.POSITIVE_INFINITY;
        this.batchNs[at] = 0;
      }
      const costNs = this.execNs(this.models[at], ++this.lastCount);
      this.backlogNs += costNs - this.batchNs[first];
      this.batchNs[first] = costNs;
      this.lastDeadlineNs = Math.min(this.lastDeadlineNs, this.deadlines[at]);
    }
  }

  private at(index: number): number {
    return (this.head + index) & (this.slots.length - 1);
  }

  private append(slot: number, model: number, deadlineNs: number): number {
    if (this.length === this.slots.length) this.grow();
    const at = this.at(this.length++);
    this.slots[at] = slot;
    this.models[at] = model;
    this.deadlines[at] = deadlineNs;
    this.opens[at] = 0;
    return at;
  }

  private copy(from: number, to: number): void {
    this.slots[to] = this.slots[from];
    this.models[to] = this.models[from];
    this.deadlines[to] = this.deadlines[from];
    this.opens[to] = this.opens[from];
    this.batchNs[to] = this.batchNs[from];
  }

  private grow(): void {
    this.slots = doubled(this.slots, this.head);
    this.models = doubled(this.models, this.head);
    this.deadlines = doubled(this.deadlines, this.head);
    this.opens = doubled(this.opens, this.head);
    this.batchNs = doubled(this.batchNs, this.head);
    this.head = 0;
  }
}
