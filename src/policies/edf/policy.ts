import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher, Policy, PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { usableSizes } from '../common/usable-sizes.js';

export interface EdfOptions {
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
export class EdfPolicy implements Policy {
  readonly name = 'edf';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly marginNs: number;
  private readonly placement: DemandPlacement;
  /** By deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  /** Of each GPU, by model that is warm there: the earliest deadline among its requests, Infinity if it has none. */
  private readonly urgency: readonly Calendar[];
  /** 1: some GPU found nothing of the model's that it could still meet, and asks no more before something changes. */
  private readonly passedOver: Uint8Array;
  /** Row 0: GPUs that may have something to run. */
  private readonly idle: BitMatrix;
  private readonly batch: Int32Array;
  /** Model that each GPU runs, −1 if none. */
  private readonly running: Int32Array;

  constructor(context: PolicyContext, options: EdfOptions) {
    const { cluster } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.marginNs = options.marginNs;
    this.queues = cluster.models.map(() => new DeadlineQueue());
    this.sizes = usableSizes(cluster.models, options.maxBatch);
    this.urgency = Array.from({ length: cluster.gpus }, () => new Calendar(cluster.models.length));
    this.passedOver = new Uint8Array(cluster.models.length);
    this.idle = new BitMatrix(1, cluster.gpus);
    this.batch = new Int32Array(cluster.maxBatch);
    this.running = new Int32Array(cluster.gpus).fill(-1);
    this.placement = new DemandPlacement(
      cluster,
      context.dispatch,
      (model) => this.queued(model),
      this.running,
    );
  }

  admit(slot: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const queue = this.queues[model];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    queue.push(slot, deadlineNs);
    if (queue.slotAt(0) === slot || this.passedOver[model] === 1) this.renew(model);
    this.placement.want(model);
    if (this.cluster.warm.count(model) > 0) this.placement.crowded(model);
    // The first moment at which it is too late, so that a GPU that becomes free in the last one still takes it.
    return deadlineNs - this.cluster.nominalExecNs(model, 0) + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    const queue = this.queues[model];
    const wasFirst = queue.slotAt(0) === slot;
    queue.remove(slot);
    if (wasFirst) this.renew(model);
  }

  finished(action: Action): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      this.running[gpu] = -1;
      this.idle.add(0, gpu);
    } else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model);
      else if (this.queued(model) > 0) this.placement.want(model);
      // On one lane, INFERs had to wait for it.
      this.idle.add(0, gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    this.urgency[gpu].set(model, NEVER);
    if (this.queued(model) > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.placement.loaded(gpu, model);
    this.renew(model);
  }

  lanesChanged(gpu: number): void {
    this.idle.add(0, gpu);
  }

  schedule(nowNs: number): void {
    this.placement.schedule(nowNs);
    for (let gpu = this.idle.next(0, 0); gpu >= 0; gpu = this.idle.next(0, gpu + 1)) {
      this.serve(gpu, nowNs);
      this.idle.delete(0, gpu);
    }
  }

  /** What becomes possible does so when something ends or arrives. */
  nextWakeNs(): number {
    return NEVER;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  /** The model's first request is another: its GPUs take note. */
  private renew(model: number): void {
    const { warm, exec } = this.cluster;
    const queue = this.queues[model];
    const deadlineNs = queue.length > 0 ? queue.deadlineNsAt(0) : NEVER;
    this.passedOver[model] = 0;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      this.urgency[gpu].set(model, deadlineNs);
      if (deadlineNs < NEVER && exec[gpu].outstanding === 0) this.idle.add(0, gpu);
    }
  }

  /** Runs what is due first, if the GPU is free. */
  private serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const urgency = this.urgency[gpu];
    while (urgency.nextNs < NEVER) {
      const model = urgency.due(urgency.nextNs);
      const queue = this.queues[model];
      // A GPU whose clock is low passes over what another may still meet.
      const first = queue.firstFrom(nowNs + this.cluster.execNs(gpu, model, 0));
      if (first < queue.length) {
        this.run(gpu, model, first, nowNs);
        return;
      }
      urgency.set(model, NEVER);
      this.passedOver[model] = 1;
    }
  }

  private run(gpu: number, model: number, first: number, nowNs: number): void {
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
    this.dispatch.infer(gpu, model, index, this.batch, batchSizes[index], nowNs, NEVER, nowNs);
    this.running[gpu] = model;
    this.cluster.recency.touch(gpu, model);
    this.renew(model);
  }
}
