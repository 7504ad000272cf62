import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { BitMatrix } from '../../core/bit-matrix.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import { StaleList } from '../../core/demand.js';
import { type Dispatcher, type Policy, type PolicyContext, REFUSE } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { DemandPlacement } from '../common/demand-placement.js';
import { usableSizes } from '../common/usable-sizes.js';
import { Candidate } from './candidate.js';

export interface SymphonyOptions {
  readonly maxBatch: number;
  /** How long before its deadline a request shall be served. */
  readonly marginNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Deferred batching ("Symphony: Optimized DNN Model Serving using Deferred Batch Scheduling", Chen et al.,
 * arXiv 2308.07470, 2023). Each model has one candidate, the largest batch that its oldest request allows. It is
 * held, though GPUs may idle, until its *frontrun* moment, after which no further request could join without
 * making the oldest late; then it goes to a free GPU, of several to the least flexible. If none is free it is
 * ready and waits; a GPU that becomes free takes the ready candidate that must start first. A request that could
 * not be met even by itself is given up, and the candidate of those behind it is held again.
 *
 * Simplified: one thread instead of one per model and per GPU; a GPU counts as free when the result of its batch
 * is there; batch sizes are those of the profile; a GPU is the less flexible, the fewer pages the weights on it
 * take. The paper has every model on every GPU: here models are loaded on demand.
 */
export class SymphonyPolicy implements Policy {
  readonly name = 'symphony';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly marginNs: number;
  private readonly placement: DemandPlacement;
  /** By deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly candidate: Candidate;
  /** When each model's candidate becomes ready; Infinity: it is, or there is none. */
  private readonly frontruns: Calendar;
  /** Row 0: models whose candidates wait for a GPU; GPUs that run nothing. */
  private readonly ready: BitMatrix;
  private readonly free: BitMatrix;
  /** Models whose candidates are another now. */
  private readonly changed: StaleList;
  /** A model became ready or a GPU free since they were matched. */
  private unmatched = false;
  private readonly batch: Int32Array;
  /** Model that each GPU runs, −1 if none. */
  private readonly running: Int32Array;

  constructor(context: PolicyContext, options: SymphonyOptions) {
    const { cluster } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.marginNs = options.marginNs;
    this.running = new Int32Array(cluster.gpus).fill(-1);
    this.placement = new DemandPlacement(
      cluster,
      context.dispatch,
      (model) => this.queued(model),
      this.running,
    );
    this.queues = cluster.models.map(() => new DeadlineQueue());
    this.sizes = usableSizes(cluster.models, options.maxBatch);
    this.candidate = new Candidate(cluster);
    this.frontruns = new Calendar(cluster.models.length);
    this.ready = new BitMatrix(1, cluster.models.length);
    this.free = new BitMatrix(1, cluster.gpus);
    for (let gpu = 0; gpu < cluster.gpus; gpu++) this.free.add(0, gpu);
    this.changed = new StaleList(cluster.models.length);
    this.batch = new Int32Array(cluster.maxBatch);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    const lastStartNs = deadlineNs - this.cluster.nominalExecNs(model, 0);
    // One that was accepted before times out.
    if (lastStartNs < nowNs && requests.dueNs[slot] === 0) return REFUSE;
    this.queues[model].push(slot, deadlineNs);
    // What is ready already stays so: it can only become larger or more urgent.
    if (!this.ready.has(0, model)) this.changed.add(model);
    this.placement.want(model);
    return lastStartNs + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.changed.add(model);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) this.running[gpu] = -1;
    else if (action.kind === LOAD) {
      if (action.status === STATUS_OK) this.weightsFound(gpu, model);
      else if (this.queued(model) > 0) this.placement.want(model);
    }
    this.lanesChanged(gpu, nowNs);
  }

  weightsLost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
    if (this.queued(model) > 0) this.placement.want(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.placement.loaded(gpu, model);
    this.changed.add(model);
    this.unmatched = true;
  }

  lanesChanged(gpu: number, _nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) this.free.delete(0, gpu);
    else {
      this.free.add(0, gpu);
      this.unmatched = true;
    }
  }

  schedule(nowNs: number): void {
    const { frontruns, changed } = this;
    for (let model = frontruns.due(nowNs); model >= 0; model = frontruns.due(nowNs)) {
      frontruns.set(model, NEVER);
      changed.add(model);
    }
    for (let i = 0; i < changed.length; i++) this.renew(changed.at(i), nowNs);
    changed.clear();
    this.placement.schedule(nowNs);
    if (!this.unmatched) return;
    while (this.free.count(0) > 0 && this.match(nowNs)) {}
    this.unmatched = false;
  }

  nextWakeNs(): number {
    return this.frontruns.nextNs;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  /** Finds out whether the model's candidate is ready, or when it will be. */
  private renew(model: number, nowNs: number): void {
    const gpu = this.cluster.warm.next(model, 0);
    if (gpu >= 0 && this.isReady(gpu, model, nowNs)) {
      this.ready.add(0, model);
      this.frontruns.set(model, NEVER);
      this.unmatched = true;
      this.placement.crowded(model);
    }
  }

  /** Forms the candidate for this GPU. One that is not ready waits for its frontrun moment. */
  private isReady(gpu: number, model: number, nowNs: number): boolean {
    const { candidate } = this;
    const exists = candidate.form(gpu, model, this.queues[model], this.sizes[model], nowNs);
    if (exists && candidate.frontrunNs <= nowNs) return true;
    this.ready.delete(0, model);
    this.frontruns.set(model, exists ? candidate.frontrunNs : NEVER);
    return false;
  }

  /** Sends the ready candidate that must start first among those that a free GPU holds; false: there is none. */
  private match(nowNs: number): boolean {
    const { ready, candidate } = this;
    let best = -1;
    let bestGpu = -1;
    let bestNs = NEVER;
    for (let model = ready.next(0, 0); model >= 0; model = ready.next(0, model + 1)) {
      const gpu = this.leastFlexible(model);
      if (gpu < 0 || !this.isReady(gpu, model, nowNs) || candidate.latestNs >= bestNs) continue;
      best = model;
      bestGpu = gpu;
      bestNs = candidate.latestNs;
    }
    if (best < 0) return false;
    this.run(bestGpu, best, nowNs);
    return true;
  }

  /** The free GPU with the model whose weights leave most pages free; −1: none. */
  private leastFlexible(model: number): number {
    const { warm, pages, exec } = this.cluster;
    let best = -1;
    for (let w = 0; w < warm.words; w++) {
      for (let bits = warm.word(model, w) & this.free.word(0, w); bits !== 0; bits &= bits - 1) {
        const gpu = (w << 5) + (31 - Math.clz32(bits & -bits));
        // On one lane a LOAD may have taken it.
        if (exec[gpu].outstanding === 0 && (best < 0 || pages[gpu].free > pages[best].free)) best = gpu;
      }
    }
    return best;
  }

  private run(gpu: number, model: number, nowNs: number): void {
    const { candidate, batch } = this;
    const queue = this.queues[model];
    candidate.form(gpu, model, queue, this.sizes[model], nowNs);
    const { first, count, batchIndex } = candidate;
    queue.take(first, count, batch);
    this.dispatch.infer(gpu, model, batchIndex, batch, count, nowNs, NEVER, nowNs);
    this.running[gpu] = model;
    this.free.delete(0, gpu);
    this.cluster.recency.touch(gpu, model);
    this.ready.delete(0, model);
    this.renew(model, nowNs);
  }
}
