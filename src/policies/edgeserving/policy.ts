import { BitSet } from '../../base/bit-set.js';
import type { PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Time sharing by stability score ("EdgeServing: Deadline-Aware Multi-DNN Serving at the Edge", Cao et al., arXiv
 * 2605.05527, ICCCN 2026). One first-come-first-served queue per model. A free GPU considers the next batch of each
 * model, all its waiting requests up to the largest size, and how urgent all other requests will be when that batch
 * ends (`Urgency`); it runs the one for which that sum is smallest. Nothing is refused, dropped or held.
 *
 * Follows the authors' code. Simplified: models have no early exits, so the choice is of models alone; a batch runs in
 * the smallest size that holds it. Published for one GPU. Here a GPU counts the queues of the models that it holds, and
 * models are loaded on demand. A decision takes time proportional to the waiting requests, for each distinct duration
 * of the next batches.
 */
export class EdgeServingPolicy extends OneBatchAtATime {
  readonly name = 'edgeserving';
  /** By model, in order of arrival. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly urgency: Urgency;
  /** Models that have waiting requests and are on some GPU. */
  private readonly waiting: BitSet;
  /** Total urgency of a GPU's queues, by time; valid for one choice. */
  private readonly totals = new Map<number, number>();

  constructor(
    context: PolicyContext,
    private readonly maxBatch: number,
  ) {
    super(context);
    const { models } = context.cluster;
    this.queues = models.map(() => new DeadlineQueue());
    this.sizes = usableSizes(models, maxBatch);
    this.urgency = new Urgency(context.requests, models.length);
    this.waiting = new BitSet(models.length);
  }

  admit(slot: number): number {
    const model = this.requests.model[slot];
    this.queues[model].push(slot, this.requests.arrivalNs[slot]);
    this.urgency.arrived(slot);
    this.placement.want(model);
    if (this.cluster.warm.count(model) > 0) {
      this.waiting.add(model);
      this.askFreeGpusWith(model);
      this.placement.crowded(model);
    }
    return NEVER;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.noteTaken(model);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    if (this.queued(model) > 0) this.waiting.add(model);
    this.idle.add(gpu);
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
  }

  modelGoes(model: number): void {
    this.urgency.forget(model);
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  /** Runs the batch that leaves the rest least urgent, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    const { cluster, waiting, warmOn, totals } = this;
    if (waiting.count === 0 || cluster.exec[gpu].outstanding > 0) return;
    let best = -1;
    let least = NEVER;
    for (
      let model = warmOn.nextCommon(gpu, waiting, 0);
      model >= 0;
      model = warmOn.nextCommon(gpu, waiting, model + 1)
    ) {
      if (!cluster.warm.has(model, gpu)) continue;
      const score = this.score(gpu, model, nowNs);
      if (score >= least) continue;
      best = model;
      least = score;
    }
    totals.clear();
    if (best >= 0) this.runNext(gpu, best, nowNs);
  }

  /** Urgency of the other models when this model's next batch ends. */
  private score(gpu: number, model: number, nowNs: number): number {
    const endNs = nowNs + this.cluster.execNs(gpu, model, this.nextIndex(model));
    return this.total(gpu, endNs) - this.urgency.ofFirst(this.queues[model], this.nextCount(model), endNs);
  }

  private total(gpu: number, atNs: number): number {
    const { waiting, warmOn, totals } = this;
    const known = totals.get(atNs);
    if (known !== undefined) return known;
    let total = 0;
    for (
      let model = warmOn.nextCommon(gpu, waiting, 0);
      model >= 0;
      model = warmOn.nextCommon(gpu, waiting, model + 1)
    ) {
      if (this.cluster.warm.has(model, gpu)) total += this.urgency.ofQueue(model, this.queues[model], atNs);
    }
    totals.set(atNs, total);
    return total;
  }

  private nextCount(model: number): number {
    return Math.min(this.queues[model].length, this.cluster.models[model].batchSizes[this.sizes[model] - 1]);
  }

  private nextIndex(model: number): number {
    const { batchSizes } = this.cluster.models[model];
    const count = this.nextCount(model);
    let index = 0;
    while (batchSizes[index] < count) index++;
    return index;
  }

  private runNext(gpu: number, model: number, nowNs: number): void {
    const count = this.nextCount(model);
    const index = this.nextIndex(model);
    this.queues[model].take(0, count, this.batch);
    this.run(gpu, model, index, count, nowNs);
    this.noteTaken(model);
  }

  private noteTaken(model: number): void {
    if (this.queues[model].length === 0) this.waiting.delete(model);
  }
}

/** Upper bound of a request's urgency, however late it is. */
const MOST = 10;
/** Multiple of its SLO after which a request reaches the upper bound. */
const MOST_FROM = 1 + Math.log(MOST);

/**
 * Urgency of waiting requests at a later time: e^(time since arrival / SLO − 1) each, 1 at the deadline, at most 10.
 */
class Urgency {
  /** By model: longest SLO of its requests so far. */
  private readonly longestSloNs: Float64Array;

  constructor(
    private readonly requests: RequestTable,
    models: number,
  ) {
    this.longestSloNs = new Float64Array(models);
  }

  arrived(slot: number): void {
    const { model, sloNs } = this.requests;
    this.longestSloNs[model[slot]] = Math.max(this.longestSloNs[model[slot]], sloNs[slot]);
  }

  forget(model: number): void {
    this.longestSloNs[model] = 0;
  }

  /** Urgency of all requests in the model's queue, which is in order of arrival. */
  ofQueue(model: number, queue: DeadlineQueue, atNs: number): number {
    const mostFromNs = atNs - MOST_FROM * this.longestSloNs[model];
    let sum = 0;
    for (let i = queue.length - 1; i >= 0; i--) {
      const slot = queue.slotAt(i);
      // All earlier arrivals are at the bound, too.
      if (this.requests.arrivalNs[slot] <= mostFromNs) return sum + (i + 1) * MOST;
      sum += this.of(slot, atNs);
    }
    return sum;
  }

  /** Urgency of the first `count` requests of the queue. */
  ofFirst(queue: DeadlineQueue, count: number, atNs: number): number {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += this.of(queue.slotAt(i), atNs);
    return sum;
  }

  private of(slot: number, atNs: number): number {
    const { arrivalNs, sloNs } = this.requests;
    return Math.min(MOST, Math.exp((atNs - arrivalNs[slot]) / sloNs[slot] - 1));
  }
}
