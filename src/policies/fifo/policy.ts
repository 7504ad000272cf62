import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { BatchQueue } from '../../core/batch-queue.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher, Policy, PolicyContext } from '../../core/policy.js';
import { REQUEST_QUEUED, type RequestTable } from '../../core/request.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { usableSizes } from '../common/usable-sizes.js';

export interface FifoOptions {
  readonly maxBatch: number;
  /** How long the oldest request waits for its batch to fill. */
  readonly maxDelayNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NONE = -1;

/**
 * What a common dynamic batcher does: a queue a model, a batch is due when it is full or its oldest request
 * has waited long enough, and an idle GPU runs whatever has been due for longest. It knows no objectives,
 * so it refuses nothing, and nothing times out unless the controller says so.
 */
export class FifoPolicy implements Policy {
  readonly name = 'fifo';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly maxDelayNs: number;
  private readonly placement: DemandPlacement;
  private readonly queues: readonly BatchQueue[];
  /** Index of each model's largest usable batch size. */
  private readonly largest: Int32Array;
  /** When the oldest request of each model has waited long enough. */
  private readonly due: Calendar;
  /** Models that are due, by GPU that could run them, in the order they became so. */
  private readonly lines: readonly number[][];
  private readonly inLine: BitMatrix;
  /** Row 0: idle GPUs that may have work. */
  private readonly idle: BitMatrix;
  private readonly batch: Int32Array;
  /** Model that each GPU runs, −1 if none. */
  private readonly running: Int32Array;

  constructor(context: PolicyContext, options: FifoOptions) {
    const { cluster } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.maxDelayNs = options.maxDelayNs;
    this.running = new Int32Array(cluster.gpus).fill(-1);
    this.placement = new DemandPlacement(
      cluster,
      context.dispatch,
      (model) => this.queued(model),
      this.running,
    );
    this.queues = cluster.models.map(() => new BatchQueue(1));
    this.largest = usableSizes(cluster.models, options.maxBatch).map((sizes) => sizes - 1);
    this.due = new Calendar(cluster.models.length);
    this.lines = Array.from({ length: cluster.gpus }, () => []);
    this.inLine = new BitMatrix(cluster.models.length, cluster.gpus);
    this.idle = new BitMatrix(1, cluster.gpus);
    this.batch = new Int32Array(cluster.maxBatch);
  }

  admit(slot: number, nowNs: number): number {
    const model = this.requests.model[slot];
    const queue = this.queues[model];
    queue.push(slot, this.requests.id[slot], NEVER, nowNs);
    if (queue.length(0) === 1) this.due.set(model, this.requests.arrivalNs[slot] + this.maxDelayNs);
    if (queue.length(0) >= this.fullBatch(model)) this.becameDue(model);
    this.placement.want(model);
    return NEVER;
  }

  timedOut(slot: number): void {
    this.dropGone(this.requests.model[slot], slot);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      this.running[gpu] = -1;
      this.idle.add(0, gpu);
    } else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model, nowNs);
      else if (this.queued(model) > 0) this.placement.want(model);
      // On one lane, INFERs had to wait for it.
      this.idle.add(0, gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    if (this.queued(model) > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number, nowNs: number): void {
    this.placement.loaded(gpu, model);
    if (this.isDue(model, nowNs)) this.becameDue(model);
  }

  lanesChanged(gpu: number): void {
    this.idle.add(0, gpu);
  }

  schedule(nowNs: number): void {
    for (let model = this.due.due(nowNs); model >= 0; model = this.due.due(nowNs)) {
      this.due.set(model, NEVER);
      this.becameDue(model);
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
    return this.queues[model].length(0);
  }

  private fullBatch(model: number): number {
    return this.cluster.models[model].batchSizes[this.largest[model]];
  }

  private isDue(model: number, nowNs: number): boolean {
    const queue = this.queues[model];
    if (queue.length(0) === 0) return false;
    return queue.length(0) >= this.fullBatch(model) || this.oldestNs(model) + this.maxDelayNs <= nowNs;
  }

  private oldestNs(model: number): number {
    return this.requests.arrivalNs[this.queues[model].headSlot(0)];
  }

  /** What is first in the queue always waits, for `slot` is about to be gone. */
  private dropGone(model: number, slot: number): void {
    const { requests } = this;
    this.queues[model].dropGone(slot, requests.id, requests.state, REQUEST_QUEUED);
  }

  /** The model gets in line at every GPU where it is warm. */
  private becameDue(model: number): void {
    const { warm } = this.cluster;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      if (!this.inLine.add(model, gpu)) continue;
      this.lines[gpu].push(model);
      this.idle.add(0, gpu);
    }
    if (warm.count(model) > 0) this.placement.crowded(model);
  }

  /** Runs what has been due for longest, if the GPU is free; true if it sent something. */
  private serve(gpu: number, nowNs: number): boolean {
    const line = this.lines[gpu];
    while (line.length > 0 && this.cluster.exec[gpu].outstanding === 0) {
      const model = line.shift() as number;
      this.inLine.delete(model, gpu);
      if (!this.cluster.warm.has(model, gpu) || !this.isDue(model, nowNs)) continue;
      this.run(gpu, model, nowNs);
      return true;
    }
    return false;
  }

  private run(gpu: number, model: number, nowNs: number): void {
    const { batchSizes } = this.cluster.models[model];
    const { requests, batch } = this;
    const queue = this.queues[model];
    const count = queue.take(0, this.fullBatch(model), batch, requests.id, requests.state, REQUEST_QUEUED);
    let batchIndex = 0;
    while (batchSizes[batchIndex] < count) batchIndex++;
    this.dispatch.infer(gpu, model, batchIndex, batch, count, nowNs, NEVER, nowNs);
    this.dropGone(model, NONE);
    this.running[gpu] = model;
    this.cluster.recency.touch(gpu, model);
    const due = this.isDue(model, nowNs);
    // What is due already waits in line, not for a time.
    this.due.set(model, due || queue.length(0) === 0 ? NEVER : this.oldestNs(model) + this.maxDelayNs);
    if (due) this.becameDue(model);
  }
}
