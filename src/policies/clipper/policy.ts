import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher, Policy, PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { usableSizes } from '../common/usable-sizes.js';
import { BatchLimits } from './batch-limits.js';

export interface ClipperOptions {
  readonly maxBatch: number;
  /** Requests that a limit grows by. */
  readonly increase: number;
  /** How long the oldest request waits for its batch to fill. */
  readonly maxDelayNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NONE = -1;

/**
 * Adaptive batching as in Clipper ("Clipper: A Low-Latency Online Prediction Serving System", Crankshaw et al.,
 * NSDI 2017, §4.3): a queue a model, first come first served, and a limit to its batches that follows the latency
 * measured of them (`BatchLimits`). A GPU that becomes free takes what a model has, up to its limit; with delayed
 * batching (§4.3.2) the oldest request first waits for the batch to fill. Nothing is refused or dropped: what is
 * late is served late.
 *
 * Simplified: a model's container has no GPU of its own, so models that share one take turns, a batch each. Copies
 * are made on demand instead of by an operator. Engines exist for some batch sizes only, so a batch runs in the
 * smallest that holds it. Where a batch has several objectives the tightest counts. Caching, ensembles and model
 * selection are left out.
 */
export class ClipperPolicy implements Policy {
  readonly name = 'clipper';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly maxDelayNs: number;
  private readonly placement: DemandPlacement;
  private readonly queues: readonly DeadlineQueue[];
  private readonly limits: BatchLimits;
  /** When the oldest request of each model that is not due has waited long enough. */
  private readonly due: Calendar;
  /** 1: the model has got in line since it was last found to have no batch due. */
  private readonly listed: Uint8Array;
  /** Row = GPU: models in line there. */
  private readonly line: BitMatrix;
  /** Where each GPU's next turn begins. */
  private readonly turn: Int32Array;
  /** Row 0: GPUs that may be free and have work. */
  private readonly idle: BitMatrix;
  /** Model that each GPU runs, −1 if none. */
  private readonly running: Int32Array;
  private readonly batch: Int32Array;

  constructor(context: PolicyContext, options: ClipperOptions) {
    const { cluster } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.maxDelayNs = options.maxDelayNs;
    this.running = new Int32Array(cluster.gpus).fill(NONE);
    this.placement = new DemandPlacement(
      cluster,
      context.dispatch,
      (model) => this.queued(model),
      this.running,
    );
    this.queues = cluster.models.map(() => new DeadlineQueue());
    this.limits = new BatchLimits(
      Int32Array.from(
        usableSizes(cluster.models, options.maxBatch),
        (sizes, model) => cluster.models[model].batchSizes[sizes - 1],
      ),
      options.increase,
    );
    this.due = new Calendar(cluster.models.length);
    this.listed = new Uint8Array(cluster.models.length);
    this.line = new BitMatrix(cluster.gpus, cluster.models.length);
    this.turn = new Int32Array(cluster.gpus);
    this.idle = new BitMatrix(1, cluster.gpus);
    this.batch = new Int32Array(cluster.maxBatch);
  }

  admit(slot: number, nowNs: number): number {
    const model = this.requests.model[slot];
    // Deadlines play no part here: all alike, they leave the order of arrival.
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

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      this.running[gpu] = NONE;
      this.idle.add(0, gpu);
      if (action.status === STATUS_OK) this.learn(action, nowNs);
    } else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model);
      else if (this.queued(model) > 0) this.placement.want(model);
      // On one lane, INFERs had to wait for it.
      this.idle.add(0, gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    if (this.queued(model) > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.placement.loaded(gpu, model);
    this.line.add(gpu, model);
    this.idle.add(0, gpu);
  }

  lanesChanged(gpu: number): void {
    this.idle.add(0, gpu);
  }

  schedule(nowNs: number): void {
    for (let model = this.due.due(nowNs); model >= 0; model = this.due.due(nowNs)) {
      this.due.set(model, NEVER);
      this.noteDue(model, nowNs);
    }
    this.placement.schedule(nowNs);
    for (let gpu = this.idle.next(0, 0); gpu >= 0; gpu = this.idle.next(0, gpu + 1)) {
      this.serve(gpu, nowNs);
      this.idle.delete(0, gpu);
    }
  }

  nextWakeNs(): number {
    return this.due.nextNs;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  private learn(action: Action, nowNs: number): void {
    let objectiveNs = NEVER;
    for (let i = 0; i < action.count; i++) {
      objectiveNs = Math.min(objectiveNs, this.requests.sloNs[action.requests[i]]);
    }
    this.limits.feedback(action.model, action.count, nowNs - action.sentNs, objectiveNs);
    this.noteDue(action.model, nowNs);
  }

  private isDue(model: number, nowNs: number): boolean {
    const count = this.queued(model);
    return count > 0 && (count >= this.limits.of(model) || this.oldestDueNs(model) <= nowNs);
  }

  private oldestDueNs(model: number): number {
    return this.requests.arrivalNs[this.queues[model].slotAt(0)] + this.maxDelayNs;
  }

  /** Another request is first in the model's queue, or none is. */
  private noteOldest(model: number, nowNs: number): void {
    const dueNs = this.queued(model) === 0 ? NEVER : this.oldestDueNs(model);
    // What is due already waits in line, not for a time.
    this.due.set(model, dueNs > nowNs ? dueNs : NEVER);
    this.noteDue(model, nowNs);
  }

  /** If the model has a batch due it gets in line at every GPU where it is warm. */
  private noteDue(model: number, nowNs: number): void {
    if (this.listed[model] === 1 || !this.isDue(model, nowNs)) return;
    this.listed[model] = 1;
    const { warm } = this.cluster;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      this.line.add(gpu, model);
      this.idle.add(0, gpu);
    }
    if (warm.count(model) > 0) this.placement.crowded(model);
  }

  /** If the GPU is free it runs a batch of the model whose turn it is. */
  private serve(gpu: number, nowNs: number): void {
    while (this.cluster.exec[gpu].outstanding === 0) {
      const model = this.line.nextCyclic(gpu, this.turn[gpu]);
      if (model < 0) return;
      this.turn[gpu] = model + 1;
      if (this.cluster.warm.has(model, gpu) && this.isDue(model, nowNs)) this.run(gpu, model, nowNs);
      else {
        this.line.delete(gpu, model);
        this.listed[model] = 0;
        this.noteDue(model, nowNs);
      }
    }
  }

  private run(gpu: number, model: number, nowNs: number): void {
    const { batchSizes } = this.cluster.models[model];
    const count = Math.min(this.queued(model), this.limits.of(model));
    this.queues[model].take(0, count, this.batch);
    let batchIndex = 0;
    while (batchSizes[batchIndex] < count) batchIndex++;
    this.dispatch.infer(gpu, model, batchIndex, this.batch, count, nowNs, NEVER, nowNs);
    this.running[gpu] = model;
    this.cluster.recency.touch(gpu, model);
    this.listed[model] = 0;
    this.noteOldest(model, nowNs);
  }
}
