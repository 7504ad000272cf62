import { BitMatrix } from '../../base/bit-matrix.js';
import { type Action, STATUS_OK } from '../../core/action.js';
import { Calendar } from '../../core/calendar.js';
import type { PolicyContext } from '../../core/policy.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';

interface ClipperOptions {
  readonly maxBatch: number;
  /** Additive increase of a limit, in requests. */
  readonly increase: number;
  /** Maximum wait of the oldest request for its batch to fill. */
  readonly maxDelayNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Adaptive batching as in Clipper ("Clipper: A Low-Latency Online Prediction Serving System", Crankshaw et al., NSDI
 * 2017, §4.3): one first-come-first-served queue per model, and a batch limit that follows the measured latency
 * (`BatchLimits`). A GPU that becomes free takes the model's requests up to the limit; with delayed batching (§4.3.2)
 * the oldest request first waits for the batch to fill. Nothing is refused or dropped: late requests are served late.
 *
 * Simplified: a model's container has no GPU of its own, so models that share one take turns, a batch each. Copies are
 * made on demand instead of by an operator. Engines exist for some batch sizes only, so a batch runs in the smallest
 * that holds it. If a batch mixes SLOs the tightest counts. Caching, ensembles and model selection are left out.
 */
export class ClipperPolicy extends OneBatchAtATime {
  readonly name = 'clipper';
  private readonly maxDelayNs: number;
  private readonly maxBatch: number;
  private readonly queues: readonly DeadlineQueue[];
  private readonly limits: BatchLimits;
  /** By model: time at which its oldest request has waited long enough, unless already due. */
  private readonly due: Calendar;
  /** By model: 1 if it was queued on GPUs since it last had no batch due. */
  private readonly listed: Uint8Array;
  /** Row = GPU: models in line there. */
  private readonly line: BitMatrix;
  /** By GPU: model at which the next turn starts. */
  private readonly turn: Int32Array;

  constructor(context: PolicyContext, options: ClipperOptions) {
    super(context);
    const { models, gpus } = context.cluster;
    this.maxDelayNs = options.maxDelayNs;
    this.maxBatch = options.maxBatch;
    this.queues = models.map(() => new DeadlineQueue());
    this.limits = new BatchLimits(
      usableSizes(models, options.maxBatch).map((sizes, model) => models[model].batchSizes[sizes - 1]),
      options.increase,
    );
    this.due = new Calendar(models.length);
    this.listed = new Uint8Array(models.length);
    this.line = new BitMatrix(gpus, models.length);
    this.turn = new Int32Array(gpus);
  }

  admit(slot: number, nowNs: number): number {
    const model = this.requests.model[slot];
    // Deadlines play no part here: equal ones preserve the order of arrival.
    this.queues[model].push(slot, NEVER);
    if (this.queued(model) === 1) this.noteOldest(model, nowNs);
    else this.noteDue(model, nowNs);
    this.placement.want(model);
    return NEVER;
  }

  timedOut(slot: number, nowNs: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.noteOldest(model, nowNs);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    this.line.add(gpu, model);
    this.idle.add(gpu);
  }

  modelCame(model: number): void {
    const spec = this.cluster.models[model];
    this.limits.restart(model, spec.batchSizes[usableSizesOf(spec, this.maxBatch) - 1]);
  }

  modelGoes(model: number): void {
    this.due.set(model, NEVER);
    this.listed[model] = 0;
    for (let gpu = 0; gpu < this.cluster.gpus; gpu++) this.line.delete(gpu, model);
  }

  override schedule(nowNs: number): void {
    for (let model = this.due.due(nowNs); model >= 0; model = this.due.due(nowNs)) {
      this.due.set(model, NEVER);
      this.noteDue(model, nowNs);
    }
    super.schedule(nowNs);
  }

  override nextWakeNs(): number {
    return this.due.nextNs;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  protected override inferEnded(action: Action, nowNs: number): void {
    if (action.status !== STATUS_OK) return;
    let sloNs = NEVER;
    for (let i = 0; i < action.count; i++) {
      sloNs = Math.min(sloNs, this.requests.sloNs[action.requests[i]]);
    }
    this.limits.feedback(action.model, action.count, nowNs - action.sentNs, sloNs);
    this.noteDue(action.model, nowNs);
  }

  private isDue(model: number, nowNs: number): boolean {
    const count = this.queued(model);
    return count > 0 && (count >= this.limits.of(model) || this.oldestDueNs(model) <= nowNs);
  }

  private oldestDueNs(model: number): number {
    return this.requests.arrivalNs[this.queues[model].slotAt(0)] + this.maxDelayNs;
  }

  /** Updates the due time after the first request of the model's queue changed. */
  private noteOldest(model: number, nowNs: number): void {
    const dueNs = this.queued(model) === 0 ? NEVER : this.oldestDueNs(model);
    // A batch already due waits in line, not for a time.
    this.due.set(model, dueNs > nowNs ? dueNs : NEVER);
    this.noteDue(model, nowNs);
  }

  /** Queues the model on every GPU where it is warm, if it has a batch due. */
  private noteDue(model: number, nowNs: number): void {
    if (this.listed[model] === 1 || !this.isDue(model, nowNs)) return;
    this.listed[model] = 1;
    const { warm } = this.cluster;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      this.line.add(gpu, model);
      this.idle.add(gpu);
    }
    if (warm.count(model) > 0) this.placement.crowded(model);
  }

  /** Runs a batch of the model whose turn it is, if the GPU is free. */
  protected override serve(gpu: number, nowNs: number): void {
    while (this.cluster.exec[gpu].outstanding === 0) {
      const model = this.line.nextCyclic(gpu, this.turn[gpu]);
      if (model < 0) return;
      this.turn[gpu] = model + 1;
      if (this.cluster.warm.has(model, gpu) && this.isDue(model, nowNs)) this.runTurn(gpu, model, nowNs);
      else {
        this.line.delete(gpu, model);
        this.listed[model] = 0;
        this.noteDue(model, nowNs);
      }
    }
  }

  private runTurn(gpu: number, model: number, nowNs: number): void {
    const { batchSizes } = this.cluster.models[model];
    const count = Math.min(this.queued(model), this.limits.of(model));
    this.queues[model].take(0, count, this.batch);
    let batchIndex = 0;
    while (batchSizes[batchIndex] < count) batchIndex++;
    this.run(gpu, model, batchIndex, count, nowNs);
    this.listed[model] = 0;
    this.noteOldest(model, nowNs);
  }
}

/** Factor on a limit after its batch took too long: 10 % less (Clipper, NSDI 2017, §4.3.1). */
const BACKOFF = 0.9;

/**
 * Limit on the requests of each model's next batch, by additive increase and multiplicative decrease: a full batch
 * within its SLO raises the limit by a fixed step, one beyond it lowers the limit by 10 %. Limits start at one step.
 */
export class BatchLimits {
  /** Fractional, so that many small decreases add up. */
  private readonly limits: Float64Array;

  constructor(
    /** By model: upper bound of its limit. */
    private readonly largest: Int32Array,
    private readonly increase: number,
  ) {
    this.limits = Float64Array.from(largest, (most) => Math.min(most, increase));
  }

  /** Resets the limit for a new model in the slot; `most` is its upper bound. */
  restart(model: number, most: number): void {
    this.largest[model] = most;
    this.limits[model] = Math.min(most, this.increase);
  }

  /** The model's current limit in requests, at least 1. */
  of(model: number): number {
    return Math.floor(this.limits[model]);
  }

  /** Adjusts the limit after a batch of `count` requests was answered in `latencyNs`, given an SLO of `sloNs`. */
  feedback(model: number, count: number, latencyNs: number, sloNs: number): void {
    const limit = this.limits[model];
    if (latencyNs > sloNs) this.limits[model] = Math.max(1, limit * BACKOFF);
    // A batch that was not full says nothing about a larger one.
    else if (count >= this.of(model)) {
      this.limits[model] = Math.min(this.largest[model], limit + this.increase);
    }
  }
}
