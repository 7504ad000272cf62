import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import { type Action, INFER, LOAD, STATUS_OK, UNLOAD } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import { type Dispatcher, InferDraft, type Policy, type PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DemandPlacement, type GpuRanges } from './demand-placement.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Base of policies that send a GPU its next batch once the result of the last has arrived, and load models on demand. A
 * subclass decides three things: what `admit` queues, when a GPU is worth asking (`idle`), and which batch it then runs
 * (`serve`, which ends in `run`).
 */
export abstract class OneBatchAtATime implements Policy {
  abstract readonly name: string;
  protected readonly cluster: Cluster;
  protected readonly requests: RequestTable;
  protected readonly dispatch: Dispatcher;
  protected readonly placement: DemandPlacement;
  /** GPUs that run nothing; a single lane may have been taken by a LOAD since. */
  protected readonly free: BitSet;
  /** GPUs for the next calls of `serve`: free ones whose situation may have changed. */
  protected readonly idle: BitSet;
  /** Row = GPU: models that are warm there, and evicted ones until the UNLOAD has a result. */
  protected readonly warmOn: BitMatrix;
  /** Slots of the batch that `run` sends. */
  protected readonly batch: Int32Array;
  private readonly order: InferDraft;

  /** `ranges`: GPUs that each model may be loaded onto. Default: all. */
  constructor({ cluster, requests, dispatch }: PolicyContext, ranges?: GpuRanges) {
    this.cluster = cluster;
    this.requests = requests;
    this.dispatch = dispatch;
    this.placement = new DemandPlacement(cluster, dispatch, (model) => this.queued(model), ranges);
    this.free = new BitSet(cluster.gpus);
    for (let gpu = cluster.up.next(0); gpu >= 0; gpu = cluster.up.next(gpu + 1)) this.free.add(gpu);
    this.idle = new BitSet(cluster.gpus);
    this.warmOn = new BitMatrix(cluster.gpus, cluster.models.length);
    this.batch = new Int32Array(cluster.maxBatch);
    this.order = new InferDraft(this.batch);
  }

  abstract admit(slot: number, nowNs: number): number;
  abstract timedOut(slot: number, nowNs: number): void;
  abstract queued(model: number): number;

  /** `run`s the GPU's next batch, if it is free. A policy that matches all GPUs at once overrides `serveIdle`. */
  protected serve(_gpu: number, _nowNs: number): void {}

  /** Called when an INFER has a result, successful or not. */
  protected inferEnded(_action: Action, _nowNs: number): void {}

  finished(action: Action, nowNs: number): void {
    const { gpu, model, kind } = action;
    if (kind === INFER) this.inferEnded(action, nowNs);
    else if (kind === UNLOAD) {
      if (!this.cluster.warm.has(model, gpu)) this.warmOn.delete(gpu, model);
      return;
    } else if (kind !== LOAD) return;
    else if (action.status === STATUS_OK) this.weightsFound(gpu, model, nowNs);
    else this.lacking(model);
    // With one lane, INFERs had to wait for a LOAD.
    this.lanesChanged(gpu, nowNs);
  }

  weightsLost(gpu: number, model: number, _nowNs: number): void {
    this.warmOn.delete(gpu, model);
    this.cluster.recency.remove(gpu, model);
    this.lacking(model);
  }

  weightsFound(gpu: number, model: number, _nowNs: number): void {
    this.warmOn.add(gpu, model);
    this.placement.loaded(gpu, model);
  }

  lanesChanged(gpu: number, _nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) this.free.delete(gpu);
    else {
      this.free.add(gpu);
      this.idle.add(gpu);
    }
  }

  schedule(nowNs: number): void {
    this.placement.schedule(nowNs);
    this.serveIdle(nowNs);
  }

  nextWakeNs(_nowNs: number): number {
    return NEVER;
  }

  /** Called when a GPU no longer holds the model, or failed to load it. */
  protected lacking(model: number): void {
    if (this.queued(model) > 0) this.placement.want(model);
  }

  protected serveIdle(nowNs: number): void {
    const { idle } = this;
    for (let gpu = idle.next(0); gpu >= 0; gpu = idle.next(gpu + 1)) {
      this.serve(gpu, nowNs);
      idle.delete(gpu);
    }
  }

  /** Marks the free GPUs that hold the model as possibly having work. */
  protected askFreeGpusWith(model: number): void {
    const { warm } = this.cluster;
    for (let w = 0; w < warm.words; w++) this.idle.include(w, warm.word(model, w) & this.free.word(w));
  }

  /** Sends the first `count` requests of `batch` to the GPU, to start on arrival. */
  protected run(gpu: number, model: number, batchIndex: number, count: number, nowNs: number): void {
    const { order } = this;
    order.gpu = gpu;
    order.model = model;
    order.batchIndex = batchIndex;
    order.count = count;
    order.earliestNs = nowNs;
    order.latestNs = NEVER;
    order.nowNs = nowNs;
    this.dispatch.infer(order);
    this.free.delete(gpu);
    this.cluster.recency.touch(gpu, model);
  }
}
