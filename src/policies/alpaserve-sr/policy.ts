import { BitSet } from '../../base/bit-set.js';
import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import { type Dispatcher, InferDraft, type Policy, type PolicyContext, REFUSE } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';
import { GpuQueue } from './gpu-queue.js';
import { Placement } from './placement.js';
import { ReplicaPlan } from './replica-plan.js';
import { Traffic } from './traffic.js';

interface AlpaServeOptions {
  readonly maxBatch: number;
  /** Lifetime of a placement. */
  readonly windowNs: number;
  /** Safety margin between a batch's end and its deadline. */
  readonly marginNs: number;
}

/** Share of a window after which the first placement is made, since no traffic is known before. */
const FIRST_WINDOW = 0.1;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Selective replication as in AlpaServe, without its model parallelism ("AlpaServe: Statistical Multiplexing with Model
 * Parallelism for Deep Learning Serving", Li et al., OSDI 2023). Replicas are placed greedily for recent traffic, and
 * stay. On arrival a request goes to the GPU with the shortest queue among those that hold its model; each GPU serves
 * first come first served, and a request predicted to miss its deadline is rejected at once.
 *
 * Simplified: the placement is renewed every window and when a GPU leaves or joins, and rates its replicas by formula
 * (`ReplicaPlan`), where the paper plans ahead of time with a simulator; the shortest queue is the one with the least
 * expected time; batches consist of consecutive requests in a queue, where the paper mostly runs one at a time. Between
 * placements a model that is loaded nowhere is loaded if pages are free, so that a run can start with nothing placed;
 * otherwise its requests are rejected. A request that turns out to be too slow times out.
 */
export class AlpaServePolicy implements Policy {
  readonly name = 'alpaserve-sr';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly marginNs: number;
  private readonly maxBatch: number;
  /** By model: number of usable batch sizes. */
  private readonly sizes: Int32Array;
  private readonly traffic: Traffic;
  private readonly plan: ReplicaPlan;
  private readonly placement: Placement;
  private readonly queues: readonly GpuQueue[];
  /** Requests for models that are not warm yet. */
  private readonly cold: readonly DeadlineQueue[];
  private readonly waiting: Int32Array;
  /** True if GPUs left or joined since the last placement. */
  private gpusChanged = false;
  /** GPUs that may have something to run; those whose LOAD has just ended. */
  private readonly idle: BitSet;
  private readonly loaded: BitSet;
  private readonly batch: Int32Array;
  private readonly order: InferDraft;
  /** By GPU: expected end of what it runs; −1: nothing. */
  private readonly endNs: Float64Array;

  constructor(context: PolicyContext, options: AlpaServeOptions) {
    const { cluster } = context;
    const { gpus, models } = cluster;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.marginNs = options.marginNs;
    this.traffic = new Traffic(models.length, options.windowNs, Math.ceil(options.windowNs * FIRST_WINDOW));
    this.plan = new ReplicaPlan(cluster, this.traffic, options.windowNs);
    this.maxBatch = options.maxBatch;
    const sizes = usableSizes(models, options.maxBatch);
    this.sizes = sizes;
    this.queues = Array.from({ length: gpus }, (_, gpu) => new GpuQueue(cluster, gpu, sizes));
    this.cold = models.map(() => new DeadlineQueue());
    this.waiting = new Int32Array(models.length);
    this.idle = new BitSet(gpus);
    this.loaded = new BitSet(gpus);
    this.batch = new Int32Array(cluster.maxBatch);
    this.order = new InferDraft(this.batch);
    this.endNs = new Float64Array(gpus).fill(-1);
    this.placement = new Placement(
      cluster,
      context.dispatch,
      (gpu, model) => cluster.isRunning(gpu, model) || this.queues[gpu].has(model),
      (model) => this.cold[model].length > 0,
    );
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    if (requests.dueNs[slot] === 0) this.traffic.add(model, requests.sloNs[slot], nowNs);
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    const gpu = this.shortest(model, nowNs);
    const taken =
      gpu >= 0
        ? this.offer(slot, model, deadlineNs, gpu, nowNs)
        : this.offerCold(slot, model, deadlineNs, nowNs);
    if (!taken) return REFUSE;
    this.waiting[model]++;
    const aloneNs = gpu >= 0 ? this.cluster.execNs(gpu, model, 0) : this.cluster.nominalExecNs(model, 0);
    // First instant at which it is too late.
    return deadlineNs - aloneNs + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.waiting[model]--;
    if (this.cold[model].remove(slot)) return;
    const { held } = this.cluster;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) {
      if (this.queues[gpu].remove(slot)) return;
    }
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      this.endNs[gpu] = -1;
      this.idle.add(gpu);
    } else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model, nowNs);
      else if (this.cold[model].length > 0) this.placement.want(model);
      this.loaded.add(gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.placement.lost(gpu, model);
    if (this.cold[model].length > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number, nowNs: number): void {
    this.placement.loaded(gpu, model);
    const cold = this.cold[model];
    while (cold.length > 0) {
      const deadlineNs = cold.deadlineNsAt(0);
      cold.take(0, 1, this.batch);
      // A request that is too late leaves the queue and times out.
      this.offer(this.batch[0], model, deadlineNs, this.shortest(model, nowNs), nowNs);
    }
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
  }

  modelGoes(model: number): void {
    this.traffic.forget(model);
    this.placement.forgetModel(model);
  }

  /** Moves requests queued for a GPU that left to another, or lets them wait until their model is loaded elsewhere. */
  lanesChanged(gpu: number, nowNs: number): void {
    this.gpusChanged = true;
    this.idle.add(gpu);
    if (!this.cluster.exec[gpu].isClosed) return;
    this.placement.forget(gpu);
    const queue = this.queues[gpu];
    const { requests } = this;
    while (queue.length > 0) {
      const slot = queue.shift();
      const model = requests.model[slot];
      const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
      const next = this.shortest(model, nowNs);
      if (next >= 0) this.offer(slot, model, deadlineNs, next, nowNs);
      else this.wait(slot, model, deadlineNs);
    }
  }

  schedule(nowNs: number): void {
    if (this.traffic.endNs <= nowNs) {
      this.traffic.close(nowNs);
      this.place();
    } else if (this.gpusChanged) this.place();
    // Before the next LOAD, which would occupy the lane again on single-lane GPUs.
    this.serveAll(this.loaded, nowNs);
    this.placement.schedule(nowNs);
    this.serveAll(this.idle, nowNs);
  }

  nextWakeNs(): number {
    return this.traffic.endNs;
  }

  queued(model: number): number {
    return this.waiting[model];
  }

  private place(): void {
    this.gpusChanged = false;
    this.plan.make();
    this.placement.follow(this.plan.chosen);
  }

  /** GPU with the shortest queue among those that serve the model, or −1. */
  private shortest(model: number, nowNs: number): number {
    const { warm, exec } = this.cluster;
    let best = -1;
    let bestNs = NEVER;
    for (let gpu = warm.next(model, 0); gpu >= 0; gpu = warm.next(model, gpu + 1)) {
      // A draining GPU keeps its weights until it leaves.
      if (exec[gpu].isClosed) continue;
      const readyNs = this.freeNs(gpu, nowNs) + this.queues[gpu].backlogNs;
      if (readyNs >= bestNs || !this.placement.serves(gpu, model)) continue;
      best = gpu;
      bestNs = readyNs;
    }
    return best;
  }

  /** Time at which the GPU should finish its current work. */
  private freeNs(gpu: number, nowNs: number): number {
    if (this.endNs[gpu] >= 0) return Math.max(nowNs, this.endNs[gpu]);
    const { exec } = this.cluster;
    return exec[gpu].outstanding === 0 ? nowNs : exec[gpu].availableNs(nowNs);
  }

  private offer(slot: number, model: number, deadlineNs: number, gpu: number, nowNs: number): boolean {
    if (gpu < 0 || !this.queues[gpu].offer(slot, model, deadlineNs, this.freeNs(gpu, nowNs))) return false;
    this.idle.add(gpu);
    return true;
  }

  /** Handles a request for a model that no GPU serves. It triggers a LOAD even if that comes too late for it. */
  private offerCold(slot: number, model: number, deadlineNs: number, nowNs: number): boolean {
    const { held, warm } = this.cluster;
    const isHeld = held.count(model) > 0;
    // GPUs on which the model is warm are about to unload it.
    if (isHeld ? held.count(model) === warm.count(model) : !this.placement.hasRoomFor(model)) return false;
    if (!isHeld) this.placement.want(model);
    const loadedNs = isHeld ? this.loadedNs(model, nowNs) : nowNs + this.cluster.loadNs(model);
    if (loadedNs + this.cluster.nominalExecNs(model, 0) > deadlineNs) return false;
    this.cold[model].push(slot, deadlineNs);
    return true;
  }

  /** Expected end of the first LOAD of the model in progress. */
  private loadedNs(model: number, nowNs: number): number {
    const { held, warm, weights } = this.cluster;
    let soonestNs = NEVER;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) {
      if (!warm.has(model, gpu)) soonestNs = Math.min(soonestNs, weights[gpu].availableNs(nowNs));
    }
    return soonestNs;
  }

  private wait(slot: number, model: number, deadlineNs: number): void {
    this.cold[model].push(slot, deadlineNs);
    if (this.cluster.held.count(model) === 0) this.placement.want(model);
  }

  private serveAll(gpus: BitSet, nowNs: number): void {
    for (let gpu = gpus.next(0); gpu >= 0; gpu = gpus.next(gpu + 1)) {
      this.serve(gpu, nowNs);
      gpus.delete(gpu);
    }
  }

  /** Runs the first batch of the queue if the GPU is free. */
  private serve(gpu: number, nowNs: number): void {
    const queue = this.queues[gpu];
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const count = queue.take(nowNs, this.batch);
    if (count === 0) return;
    const model = this.requests.model[this.batch[0]];
    const size = queue.sizeFor(model, count);
    this.endNs[gpu] = nowNs + this.cluster.execNs(gpu, model, size);
    const { order } = this;
    order.gpu = gpu;
    order.model = model;
    order.batchIndex = size;
    order.count = count;
    order.earliestNs = nowNs;
    order.latestNs = NEVER;
    order.nowNs = nowNs;
    this.dispatch.infer(order);
    this.waiting[model] -= count;
    this.cluster.recency.touch(gpu, model);
  }
}
