import { type Action, INFER, LOAD, STATUS_OK, STATUS_WORKER_LOST } from '../../core/action.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import type { Cluster } from '../../core/cluster.js';
import { StaleList } from '../../core/demand.js';
import { type Dispatcher, type Policy, type PolicyContext, REFUSE } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { usableSizes } from '../common/usable-sizes.js';
import { GroupPlan } from './group-plan.js';
import { LargestBatch } from './largest-batch.js';
import { RunningBatches } from './running-batches.js';

export interface ShepherdOptions {
  readonly maxBatch: number;
  /** How long before its deadline a request shall be served. */
  readonly marginNs: number;
  /** How many times the value of a running batch another must have to replace it. */
  readonly preemption: number;
  /** Models are dealt out to groups of GPUs as often as this. */
  readonly periodNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Two levels ("SHEPHERD: Serving DNNs in the Wild", Zhang et al., NSDI 2023). *Planning* ("Herd") makes groups of GPUs
 * and of request streams. *Serving* ("Flex"): a free GPU runs the batch of its group that meets the most
 * deadlines; one that becomes λ times as large as what a GPU runs replaces it, and the requests of that wait again if
 * they can still be met. With λ = 3.03 the paper proves that Flex meets, without a plan for the future, at least one
 * 12.62th of what the best plan could.
 *
 * Simplified: the integer programme of Herd by a greedy rule (`GroupPlan`); a stream is a model; its weights are
 * loaded on demand within the group, and a copy elsewhere serves until there is one. A preemption counts with the
 * time that the last one took, network included, and is left where the batch would have ended by then.
 */
export class ShepherdPolicy implements Policy {
  readonly name = 'shepherd';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly marginNs: number;
  private readonly preemption: number;
  private readonly plan: GroupPlan;
  private readonly placement: DemandPlacement;
  /** By deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly candidate: LargestBatch;
  private readonly running: RunningBatches;
  /** Row 0: models that requests wait for; GPUs that run nothing, and those of them that may have work. */
  private readonly waiting: BitMatrix;
  private readonly free: BitMatrix;
  private readonly hopeful: BitMatrix;
  /** Models that requests came for. */
  private readonly grown: StaleList;
  private readonly batch: Int32Array;

  constructor(context: PolicyContext, options: ShepherdOptions) {
    const { cluster } = context;
    const { models, gpus } = cluster;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.marginNs = options.marginNs;
    this.preemption = options.preemption;
    this.sizes = usableSizes(models, options.maxBatch);
    this.plan = new GroupPlan(cluster, this.sizes, options.periodNs);
    this.running = new RunningBatches(gpus);
    const queued = (model: number) => this.queued(model);
    this.placement = new DemandPlacement(cluster, context.dispatch, queued, this.running.model, this.plan);
    this.queues = models.map(() => new DeadlineQueue());
    this.candidate = new LargestBatch(cluster);
    this.waiting = new BitMatrix(1, models.length);
    this.free = new BitMatrix(1, gpus);
    for (let gpu = 0; gpu < gpus; gpu++) this.free.add(0, gpu);
    this.hopeful = new BitMatrix(1, gpus);
    this.grown = new StaleList(models.length);
    this.batch = new Int32Array(cluster.maxBatch);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const isNew = requests.dueNs[slot] === 0;
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    const lastStartNs = deadlineNs - this.cluster.nominalExecNs(model, 0);
    if (isNew) this.plan.arrived(model);
    // One that was accepted before times out.
    if (lastStartNs < nowNs && isNew) return REFUSE;
    this.queues[model].push(slot, deadlineNs);
    this.waiting.add(0, model);
    this.grown.add(model);
    this.placement.want(model);
    return lastStartNs + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.noteTaken(model);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model, status } = action;
    if (action.kind === INFER) this.running.ended(gpu, nowNs, status !== STATUS_WORKER_LOST);
    else if (action.kind === LOAD) {
      if (status === STATUS_OK) this.weightsFound(gpu, model);
      else if (this.queued(model) > 0) this.placement.want(model);
    }
    this.lanesChanged(gpu);
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    if (this.queued(model) > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.placement.loaded(gpu, model);
    if (this.queued(model) > 0) this.grown.add(model);
  }

  lanesChanged(gpu: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) this.free.delete(0, gpu);
    else {
      this.free.add(0, gpu);
      this.hopeful.add(0, gpu);
    }
  }

  schedule(nowNs: number): void {
    const { grown, hopeful } = this;
    if (this.plan.isDue(nowNs)) this.replan(nowNs);
    this.placement.schedule(nowNs);
    for (let i = 0; i < grown.length; i++) this.raiseHopes(grown.at(i));
    for (let gpu = hopeful.next(0, 0); gpu >= 0; gpu = hopeful.next(0, gpu + 1)) {
      hopeful.delete(0, gpu);
      this.serve(gpu, nowNs);
    }
    for (let i = 0; i < grown.length; i++) this.contend(grown.at(i), nowNs);
    grown.clear();
  }

  nextWakeNs(): number {
    return NEVER;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  private replan(nowNs: number): void {
    const { waiting } = this;
    this.plan.renew(nowNs);
    for (let model = waiting.next(0, 0); model >= 0; model = waiting.next(0, model + 1)) {
      this.placement.want(model);
      this.grown.add(model);
    }
  }

  /** The free GPUs that have the model look for work. */
  private raiseHopes(model: number): void {
    const { warm } = this.cluster;
    for (let w = 0; w < warm.words; w++)
      this.hopeful.include(0, w, warm.word(model, w) & this.free.word(0, w));
  }

  /** Whether the GPU runs the model's batches: it has the model, and is of its group, or none of its group has it. */
  private serves(gpu: number, model: number): boolean {
    const { warm } = this.cluster;
    if (!warm.has(model, gpu)) return false;
    const first = this.plan.first[model];
    const end = this.plan.end[model];
    if (gpu >= first && gpu < end) return true;
    const own = warm.next(model, first);
    return own < 0 || own >= end;
  }

  /** Runs the batch that meets the most deadlines; of equals, that with the earliest. */
  private serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const { waiting, candidate, queues, sizes } = this;
    let best = -1;
    let bestCount = 0;
    let bestNs = NEVER;
    for (let model = waiting.next(0, 0); model >= 0; model = waiting.next(0, model + 1)) {
      if (!this.serves(gpu, model)) continue;
      const count = candidate.form(gpu, model, queues[model], sizes[model], nowNs);
      if (count < bestCount || count === 0) continue;
      if (count === bestCount && candidate.deadlineNs >= bestNs) continue;
      best = model;
      bestCount = count;
      bestNs = candidate.deadlineNs;
    }
    if (best >= 0) this.run(gpu, best, nowNs);
  }

  private run(gpu: number, model: number, nowNs: number): void {
    const { candidate, batch, cluster } = this;
    const queue = this.queues[model];
    candidate.form(gpu, model, queue, this.sizes[model], nowNs);
    const { first, count, batchIndex } = candidate;
    queue.take(first, count, batch);
    this.dispatch.infer(gpu, model, batchIndex, batch, count, nowNs, NEVER, nowNs);
    this.running.started(gpu, model, count, nowNs + cluster.execNs(gpu, model, batchIndex));
    this.free.delete(0, gpu);
    cluster.recency.touch(gpu, model);
    this.noteTaken(model);
  }

  /** What no free GPU took may be worth replacing what one runs: the GPU that loses least by it. */
  private contend(model: number, nowNs: number): void {
    const { running, cluster } = this;
    const queue = this.queues[model];
    if (queue.length === 0) return;
    if (cluster.warm.count(model) > 0) this.placement.crowded(model);
    if (queue.length < this.preemption) return;
    let victim = -1;
    for (let gpu = cluster.warm.next(model, 0); gpu >= 0; gpu = cluster.warm.next(model, gpu + 1)) {
      if (!running.canStop(gpu, nowNs) || !this.serves(gpu, model)) continue;
      if (victim < 0 || running.count[gpu] < running.count[victim]) victim = gpu;
    }
    if (victim < 0) return;
    const startNs = nowNs + running.stopNs;
    const count = this.candidate.form(victim, model, queue, this.sizes[model], startNs);
    // More in any case: two batches of one size would replace each other for ever.
    if (count <= running.count[victim] || count < this.preemption * running.count[victim]) return;
    running.stopping(victim, nowNs);
    this.dispatch.abort(victim, nowNs);
  }

  private noteTaken(model: number): void {
    if (this.queues[model].length === 0) this.waiting.delete(0, model);
  }
}
