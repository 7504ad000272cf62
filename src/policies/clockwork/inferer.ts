import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import { BatchQueue } from '../../core/batch-queue.js';
import type { Booking } from '../../core/booking.js';
import type { Cluster } from '../../core/cluster.js';
import { StaleList } from '../../core/demand.js';
import { type Dispatcher, InferDraft } from '../../core/policy.js';
import { REQUEST_QUEUED, type RequestTable } from '../../core/request.js';
import { CandidateHeap } from './candidate-heap.js';

/**
 * INFER: while a GPU's EXEC lane is booked less than schedule_ahead into the future, it runs the model whose
 * oldest request must start first, in the largest batch that its queue can fill.
 *
 * An *instance* (model on a GPU) is active while it has a candidate: a batch size with the time by which it
 * must start. Priorities are fixed when a candidate is made; arrivals do not renew them.
 */
export class Inferer {
  readonly queues: BatchQueue[];
  private readonly sizes: Int32Array;
  private readonly candidates: readonly CandidateHeap[];
  /** Row = model: GPUs where it is active. */
  private readonly active: BitMatrix;
  /**
   * Row = model: GPUs on which it became active since they were last asked. `renewed`: GPUs that have such instances.
   * `freshModels`: rows that are not empty.
   */
  private readonly fresh: BitMatrix;
  private readonly renewed: BitSet;
  private readonly freshModels: StaleList;
  /** GPUs with candidates. */
  private readonly ready: BitSet;
  private readonly batch: Int32Array;
  private readonly order: InferDraft;
  private turn = 0;

  constructor(
    private readonly cluster: Cluster,
    private readonly requests: RequestTable,
    private readonly dispatch: Dispatcher,
    private readonly booking: Booking,
    private readonly latestDeltaNs: number,
    /** By model: number of usable batch sizes. */
    usableSizes: Int32Array,
    private readonly onSent: (gpu: number, model: number, slots: Int32Array, count: number) => void,
  ) {
    const { models, gpus } = cluster;
    this.sizes = usableSizes;
    this.queues = models.map((_, m) => new BatchQueue(usableSizes[m]));
    this.candidates = Array.from({ length: gpus }, () => new CandidateHeap(models.length));
    this.active = new BitMatrix(models.length, gpus);
    this.fresh = new BitMatrix(models.length, gpus);
    this.freshModels = new StaleList(models.length);
    this.renewed = new BitSet(gpus);
    this.ready = new BitSet(gpus);
    this.batch = new Int32Array(cluster.maxBatch);
    this.order = new InferDraft(this.batch);
  }

  /** Queues a request; its model's instances without candidates will look for some. */
  enqueue(slot: number, model: number, dueNs: number, nowNs: number): void {
    this.queues[model].push(slot, this.requests.id[slot], dueNs, nowNs);
    const { warm } = this.cluster;
    const { active, fresh, renewed } = this;
    for (let w = 0; w < warm.words; w++) {
      const resting = warm.word(model, w) & ~active.word(model, w);
      if (resting === 0) continue;
      active.include(model, w, resting);
      fresh.include(model, w, resting);
      renewed.include(w, resting);
      this.freshModels.add(model);
    }
  }

  /** Marks an instance that may have work: it looks for candidates when its GPU is next asked. */
  activate(gpu: number, model: number): void {
    if (!this.active.add(model, gpu)) return;
    this.fresh.add(model, gpu);
    this.renewed.add(gpu);
    this.freshModels.add(model);
  }

  /** Call when a new model is in the slot; `sizes` of its batch sizes are usable. */
  came(model: number, sizes: number): void {
    this.sizes[model] = sizes;
    this.queues[model] = new BatchQueue(sizes);
  }

  /** Removes the candidates of a model that leaves. */
  forget(model: number): void {
    for (let gpu = 0; gpu < this.cluster.gpus; gpu++) {
      this.candidates[gpu].remove(model);
      this.note(gpu);
    }
    this.active.clear(model);
    this.fresh.clear(model);
  }

  /** Call when an INFER has ended on the GPU. */
  finished(gpu: number, nowNs: number): void {
    this.booking.update(gpu, nowNs);
  }

  /** True if `schedule` would do nothing. */
  isQuiet(nowNs: number): boolean {
    const { booking, renewed, ready } = this;
    return booking.nextOpeningNs > nowNs && renewed.count === 0 && ready.nextCommon(booking.open, 0) < 0;
  }

  /** Lets each GPU in turn send one INFER until none can; true if any did. */
  schedule(nowNs: number): boolean {
    const { booking, renewed, ready } = this;
    booking.advance(nowNs);
    let sent = false;
    let from = this.turn;
    for (let left = this.cluster.gpus; left > 0; ) {
      const gpu = this.nextToAsk(from);
      const skipped = gpu < 0 ? left : (gpu - from + this.cluster.gpus) % this.cluster.gpus;
      if (skipped >= left) break;
      left -= skipped + 1;
      if (renewed.has(gpu)) this.makeFresh(gpu);
      from = gpu + 1 === this.cluster.gpus ? 0 : gpu + 1;
      if (ready.has(gpu) && booking.isOpen(gpu) && this.tryGpu(gpu, nowNs)) {
        sent = true;
        this.turn = from;
        left = this.cluster.gpus;
      }
    }
    this.freshModels.clear();
    return sent;
  }

  /** Next GPU in turn with candidates or new instances, or −1. */
  private nextToAsk(from: number): number {
    const { gpus } = this.cluster;
    const a = this.renewed.nextCyclic(from);
    const b = this.nextOpenReady(from);
    if (a < 0 || b < 0) return Math.max(a, b);
    return (a - from + gpus) % gpus < (b - from + gpus) % gpus ? a : b;
  }

  private nextOpenReady(from: number): number {
    const found = this.ready.nextCommon(this.booking.open, from);
    return found >= 0 ? found : this.ready.nextCommon(this.booking.open, 0);
  }

  /** Makes the candidates of the GPU's newly active instances. */
  private makeFresh(gpu: number): void {
    const { fresh, freshModels } = this;
    for (let i = 0; i < freshModels.length; i++) {
      const model = freshModels.at(i);
      if (!fresh.delete(model, gpu)) continue;
      // Once nothing waits, other GPUs find nothing either, since arrivals come between passes.
      if (!this.addCandidate(gpu, model, this.sizes[model])) this.rest(model);
    }
    this.renewed.delete(gpu);
  }

  /** Deactivates all newly active instances of a model. */
  private rest(model: number): void {
    const { fresh, active, freshModels, renewed } = this;
    for (let w = 0; w < fresh.words; w++) {
      const bits = fresh.word(model, w);
      active.exclude(model, w, bits);
      fresh.exclude(model, w, bits);
    }
    for (let i = 0; i < freshModels.length; i++) {
      if (fresh.count(freshModels.at(i)) > 0) return;
    }
    renewed.clear();
  }

  private tryGpu(gpu: number, nowNs: number): boolean {
    const heap = this.candidates[gpu];
    const availableNs = this.cluster.exec[gpu].availableNs(nowNs);
    while (heap.size > 0) {
      const model = heap.topModel;
      const wanted = heap.topBatchIndex;
      heap.pop();
      // Other GPUs may have taken everything.
      if (!this.cluster.warm.has(model, gpu) || this.queues[model].isEmpty) {
        this.active.delete(model, gpu);
        continue;
      }
      const found = this.largestBatch(gpu, model, availableNs);
      const taken = found < wanted ? 0 : this.take(model, found);
      if (taken === 0) {
        // A size that could not be filled is not retried before the next success.
        this.addCandidate(gpu, model, wanted);
        continue;
      }
      // Timed-out requests in the queue can leave a batch short; the smallest size that fits runs it.
      const batchIndex = this.smallestFor(model, found, taken);
      const { order } = this;
      order.gpu = gpu;
      order.model = model;
      order.batchIndex = batchIndex;
      order.count = taken;
      order.earliestNs = nowNs;
      order.latestNs = availableNs + this.latestDeltaNs;
      order.nowNs = nowNs;
      this.dispatch.infer(order);
      this.onSent(gpu, model, this.batch, taken);
      this.booking.update(gpu, nowNs);
      this.addCandidate(gpu, model, this.sizes[model]);
      this.note(gpu);
      return true;
    }
    this.note(gpu);
    return false;
  }

  /** Drops requests that each size can no longer serve; returns the largest size that its queue fills, or −1. */
  private largestBatch(gpu: number, model: number, availableNs: number): number {
    const queue = this.queues[model];
    const { batchSizes } = this.cluster.models[model];
    const sizes = this.sizes[model];
    for (let b = 0; b < sizes; b++) queue.dropBefore(b, availableNs + this.cluster.execNs(gpu, model, b));
    let found = 0;
    while (found + 1 < sizes && queue.length(found + 1) >= batchSizes[found + 1]) found++;
    return queue.length(found) < batchSizes[found] ? -1 : found;
  }

  private take(model: number, batchIndex: number): number {
    const { requests } = this;
    const most = this.cluster.models[model].batchSizes[batchIndex];
    return this.queues[model].take(batchIndex, most, this.batch, requests.id, requests.state, REQUEST_QUEUED);
  }

  private smallestFor(model: number, batchIndex: number, count: number): number {
    const { batchSizes } = this.cluster.models[model];
    let smallest = batchIndex;
    while (smallest > 0 && batchSizes[smallest - 1] >= count) smallest--;
    return smallest;
  }

  /** Makes the candidate of an active instance from its first `sizes` batch sizes; false if there is none. */
  private addCandidate(gpu: number, model: number, sizes: number): boolean {
    const queue = this.queues[model];
    let best = -1;
    let bestPriority = 0;
    for (let b = 0; b < sizes; b++) {
      if (queue.length(b) === 0) continue;
      const priority = queue.headDeadlineNs(b) - this.cluster.execNs(gpu, model, b);
      if (best >= 0 && priority >= bestPriority) continue;
      best = b;
      bestPriority = priority;
    }
    if (best < 0) {
      this.active.delete(model, gpu);
      return false;
    }
    this.candidates[gpu].push(bestPriority, best, model);
    this.ready.add(gpu);
    return true;
  }

  private note(gpu: number): void {
    if (this.candidates[gpu].size === 0) this.ready.delete(gpu);
  }
}
