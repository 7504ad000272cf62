import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import type { PolicyContext } from '../../core/policy.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

interface EdfOptions {
  readonly maxBatch: number;
  /** Safety margin between a batch's end and its deadline. */
  readonly marginNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Earliest deadline first (Liu and Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time
 * Environment", JACM 20(1), 1973), extended by batching: an idle GPU takes, of the models it holds, the one whose first
 * request has the earliest deadline, in the largest batch that its requests fill and that ends by that deadline. A
 * request that could not be met even on its own is given up.
 *
 * Simplified: no preemption; a GPU is free when the result of its batch has arrived, so it idles for a round trip
 * between batches. The rule does not cover weights: models are loaded on demand.
 */
export class EdfPolicy extends OneBatchAtATime {
  readonly name = 'edf';
  private readonly marginNs: number;
  /** Requests by deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly maxBatch: number;
  /** Models that have waiting requests and are on some GPU. */
  private readonly waiting: BitSet;
  /** Row = model: GPUs that could meet none of its requests, and do not ask again before something changes. */
  private readonly passedOver: BitMatrix;

  constructor(context: PolicyContext, options: EdfOptions) {
    super(context);
    const { models, gpus } = context.cluster;
    this.marginNs = options.marginNs;
    this.queues = models.map(() => new DeadlineQueue());
    this.maxBatch = options.maxBatch;
    this.sizes = usableSizes(models, options.maxBatch);
    this.waiting = new BitSet(models.length);
    this.passedOver = new BitMatrix(models.length, gpus);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const queue = this.queues[model];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    queue.push(slot, deadlineNs);
    if (queue.slotAt(0) === slot || this.passedOver.count(model) > 0) this.renew(model);
    this.placement.want(model);
    if (this.cluster.warm.count(model) > 0) this.placement.crowded(model);
    // First instant at which it is too late, so that a GPU that becomes free just before still takes it.
    return this.cluster.latestStartNs(model, deadlineNs, nowNs) + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    const queue = this.queues[model];
    const wasFirst = queue.slotAt(0) === slot;
    queue.remove(slot);
    if (wasFirst) this.renew(model);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    this.renew(model);
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
  }

  modelGoes(model: number): void {
    this.passedOver.clear(model);
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  queuedBefore(slot: number): number {
    const { requests } = this;
    return this.queues[requests.model[slot]].countBefore(
      requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs,
    );
  }

  /** Call when the model's first request has changed: free GPUs may run it. */
  private renew(model: number): void {
    if (this.passedOver.count(model) > 0) this.passedOver.clear(model);
    if (this.queues[model].length === 0 || this.cluster.warm.count(model) === 0) {
      this.waiting.delete(model);
      return;
    }
    this.waiting.add(model);
    this.askFreeGpusWith(model);
  }

  /** Runs the batch with the earliest deadline, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    if (this.waiting.count === 0 || this.cluster.exec[gpu].outstanding > 0) return;
    for (let model = this.mostUrgent(gpu); model >= 0; model = this.mostUrgent(gpu)) {
      // A GPU with a low clock passes over requests that another may still meet.
      const first = this.queues[model].firstFrom(nowNs + this.cluster.execNs(gpu, model, 0));
      if (first < this.queues[model].length) {
        this.runFrom(first, gpu, model, nowNs);
        return;
      }
      this.passedOver.add(model, gpu);
    }
  }

  /** Model on the GPU whose first request has the earliest deadline; −1: none has requests. */
  private mostUrgent(gpu: number): number {
    const { waiting, warmOn, passedOver, queues, cluster } = this;
    let best = -1;
    let earliestNs = NEVER;
    for (
      let model = warmOn.nextCommon(gpu, waiting, 0);
      model >= 0;
      model = warmOn.nextCommon(gpu, waiting, model + 1)
    ) {
      const deadlineNs = queues[model].deadlineNsAt(0);
      if (deadlineNs >= earliestNs || passedOver.has(model, gpu)) continue;
      if (!cluster.warm.has(model, gpu)) continue;
      best = model;
      earliestNs = deadlineNs;
    }
    return best;
  }

  private runFrom(first: number, gpu: number, model: number, nowNs: number): void {
    const queue = this.queues[model];
    const { batchSizes } = this.cluster.models[model];
    const waiting = queue.length - first;
    const spareNs = queue.deadlineNsAt(first) - nowNs;
    let index = 0;
    while (index + 1 < this.sizes[model] && batchSizes[index + 1] <= waiting) {
      if (this.cluster.execNs(gpu, model, index + 1) > spareNs) break;
      index++;
    }
    queue.take(first, batchSizes[index], this.batch);
    this.run(gpu, model, index, batchSizes[index], nowNs);
    this.renew(model);
  }
}
