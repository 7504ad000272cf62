import { Calendar } from '../../core/calendar.js';
import type { PolicyContext } from '../../core/policy.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

interface EdfOptions {
  readonly maxBatch: number;
  /** How long before its deadline a batch shall end. */
  readonly marginNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Earliest deadline first (Liu and Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time
 * Environment", JACM 20(1), 1973), with the batches that inference adds to it: a GPU that runs nothing takes, of the
 * models it holds, the one whose first request has the earliest deadline, in the largest batch that its requests fill
 * and that ends by that deadline. What could not be met even by itself is given up.
 *
 * Simplified: without preemption; a GPU is free when the result of its batch is there, so it idles for a
 * round trip between batches. The rule says nothing of weights: models are loaded on demand.
 */
export class EdfPolicy extends OneBatchAtATime {
  readonly name = 'edf';
  private readonly marginNs: number;
  /** By deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly maxBatch: number;
  /** Of each GPU, by model that is warm there: the earliest deadline among its requests, Infinity if it has none. */
  private readonly urgency: readonly Calendar[];
  /** 1: some GPU found nothing of the model's that it could still meet, and asks no more before something changes. */
  private readonly passedOver: Uint8Array;

  constructor(context: PolicyContext, options: EdfOptions) {
    super(context);
    const { models, gpus } = context.cluster;
    this.marginNs = options.marginNs;
    this.queues = models.map(() => new DeadlineQueue());
    this.maxBatch = options.maxBatch;
    this.sizes = usableSizes(models, options.maxBatch);
    this.urgency = Array.from({ length: gpus }, () => new Calendar(models.length));
    this.passedOver = new Uint8Array(models.length);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const queue = this.queues[model];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    queue.push(slot, deadlineNs);
    if (queue.slotAt(0) === slot || this.passedOver[model] === 1) this.renew(model);
    this.placement.want(model);
    if (this.cluster.warm.count(model) > 0) this.placement.crowded(model);
    // The first moment at which it is too late, so that a GPU that becomes free in the last one still takes it.
    return this.cluster.latestStartNs(model, deadlineNs, nowNs) + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    const queue = this.queues[model];
    const wasFirst = queue.slotAt(0) === slot;
    queue.remove(slot);
    if (wasFirst) this.renew(model);
  }

  override weightsLost(gpu: number, model: number, nowNs: number): void {
    this.urgency[gpu].set(model, NEVER);
    super.weightsLost(gpu, model, nowNs);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    this.renew(model);
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
  }

  modelGoes(model: number): void {
    this.passedOver[model] = 0;
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

  /** The model's first request is another: its GPUs take note. */
  private renew(model: number): void {
    const { warm } = this.cluster;
    const queue = this.queues[model];
    const deadlineNs = queue.length > 0 ? queue.deadlineNsAt(0) : NEVER;
    this.passedOver[model] = 0;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      this.urgency[gpu].set(model, deadlineNs);
    }
    if (deadlineNs < NEVER) this.askFreeGpusWith(model);
  }

  /** Runs what is due first, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const urgency = this.urgency[gpu];
    while (urgency.nextNs < NEVER) {
      const model = urgency.due(urgency.nextNs);
      const queue = this.queues[model];
      // A GPU whose clock is low passes over what another may still meet.
      const first = queue.firstFrom(nowNs + this.cluster.execNs(gpu, model, 0));
      if (first < queue.length) {
        this.runFrom(first, gpu, model, nowNs);
        return;
      }
      urgency.set(model, NEVER);
      this.passedOver[model] = 1;
    }
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
