import { BitSet } from '../../base/bit-set.js';
import { type Action, STATUS_WORKER_LOST, UNLOAD } from '../../core/action.js';
import { StaleList } from '../../core/demand.js';
import { type PolicyContext, REFUSE } from '../../core/policy.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';
import { GroupPlan } from './group-plan.js';
import { LargestBatch } from './largest-batch.js';
import { RunningBatches } from './running-batches.js';

interface ShepherdOptions {
  readonly maxBatch: number;
  /** Safety margin before a request's deadline. */
  readonly marginNs: number;
  /** Minimum ratio of a batch's value to that of the running one it replaces. */
  readonly preemption: number;
  /** Interval at which models are assigned to groups of GPUs. */
  readonly periodNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Two levels ("SHEPHERD: Serving DNNs in the Wild", Zhang et al., NSDI 2023). *Planning* ("Herd") forms groups of GPUs
 * and of request streams. *Serving* ("Flex"): a free GPU runs the batch of its group that meets the most deadlines; a
 * batch that becomes λ times as large as a running one replaces it, and the requests of that wait again if they can
 * still be met, possibly in the replacement itself. For λ = 3.03 the paper proves that Flex meets, without a plan for
 * the future, at least 1/12.62 of what the best plan could.
 *
 * Simplified: a greedy rule (`GroupPlan`) replaces the integer program of Herd; a stream is a model; its weights are
 * loaded on demand within the group, and a copy elsewhere serves until there is one. A preemption is expected to take
 * as long as the last one, network included, and is skipped if the batch would have ended by then.
 */
export class ShepherdPolicy extends OneBatchAtATime {
  readonly name = 'shepherd';
  private readonly marginNs: number;
  private readonly maxBatch: number;
  private readonly preemption: number;
  private readonly plan: GroupPlan;
  /** Requests by deadline less margin. */
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly candidate: LargestBatch;
  private readonly running: RunningBatches;
  /** Models with waiting requests. */
  private readonly waiting: BitSet;
  /** Models with new requests. */
  private readonly grown: StaleList;

  constructor(context: PolicyContext, options: ShepherdOptions) {
    const { cluster } = context;
    const { models } = cluster;
    const sizes = usableSizes(models, options.maxBatch);
    const plan = new GroupPlan(cluster, sizes, options.periodNs);
    super(context, plan);
    this.marginNs = options.marginNs;
    this.maxBatch = options.maxBatch;
    this.preemption = options.preemption;
    this.sizes = sizes;
    this.plan = plan;
    this.running = new RunningBatches(cluster.gpus, cluster.maxBatch);
    this.queues = models.map(() => new DeadlineQueue());
    this.candidate = new LargestBatch(cluster);
    this.waiting = new BitSet(models.length);
    this.grown = new StaleList(models.length);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const isNew = requests.dueNs[slot] === 0;
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot] - this.marginNs;
    const lastStartNs = this.cluster.latestStartNs(model, deadlineNs, nowNs);
    if (isNew) this.plan.arrived(model);
    // A request accepted earlier times out.
    if (lastStartNs < nowNs && isNew) return REFUSE;
    this.queues[model].push(slot, deadlineNs);
    this.waiting.add(model);
    this.grown.add(model);
    this.placement.want(model);
    return lastStartNs + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.noteTaken(model);
  }

  override finished(action: Action, nowNs: number): void {
    super.finished(action, nowNs);
    // Look again at any result: expected times may have changed.
    if (action.kind === UNLOAD) this.lanesChanged(action.gpu, nowNs);
  }

  protected override inferEnded({ gpu, status }: Action, nowNs: number): void {
    this.running.ended(gpu, nowNs, status !== STATUS_WORKER_LOST);
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    if (this.queued(model) > 0) this.grown.add(model);
  }

  override lanesChanged(gpu: number, nowNs: number): void {
    super.lanesChanged(gpu, nowNs);
    if (!this.plan.isNews(gpu)) return;
    this.plan.changed();
    this.wantWaiting();
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
    this.plan.changed();
    this.wantWaiting();
  }

  modelGoes(model: number): void {
    this.plan.forget(model);
  }

  override schedule(nowNs: number): void {
    const { grown } = this;
    if (this.plan.isDue(nowNs)) this.replan(nowNs);
    this.placement.schedule(nowNs);
    for (let i = 0; i < grown.length; i++) this.askFreeGpusWith(grown.at(i));
    this.serveIdle(nowNs);
    for (let i = 0; i < grown.length; i++) this.contend(grown.at(i), nowNs);
    grown.clear();
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

  private replan(nowNs: number): void {
    this.plan.renew(nowNs);
    this.wantWaiting();
  }

  /** Requests LOADs after models were assigned: those with waiting requests may be missing in their groups. */
  private wantWaiting(): void {
    const { waiting } = this;
    for (let model = waiting.next(0); model >= 0; model = waiting.next(model + 1)) {
      this.placement.want(model);
      this.grown.add(model);
    }
  }

  /** True if the GPU runs the model's batches: it has the model, and is of its group, or none of its group has it. */
  private serves(gpu: number, model: number): boolean {
    const { warm } = this.cluster;
    if (!warm.has(model, gpu)) return false;
    const first = this.plan.first[model];
    const end = this.plan.end[model];
    if (gpu >= first && gpu < end) return true;
    const own = warm.next(model, first);
    return own < 0 || own >= end;
  }

  /** Runs the batch that meets the most deadlines; ties go to the earliest deadline. */
  protected override serve(gpu: number, nowNs: number): void {
    if (this.cluster.exec[gpu].outstanding > 0) return;
    const { waiting, warmOn, candidate, queues, sizes } = this;
    let best = -1;
    let bestCount = 0;
    let bestNs = NEVER;
    for (
      let model = warmOn.nextCommon(gpu, waiting, 0);
      model >= 0;
      model = warmOn.nextCommon(gpu, waiting, model + 1)
    ) {
      if (!this.serves(gpu, model)) continue;
      const count = candidate.form(gpu, model, queues[model], sizes[model], nowNs);
      if (count < bestCount || count === 0) continue;
      if (count === bestCount && candidate.deadlineNs >= bestNs) continue;
      best = model;
      bestCount = count;
      bestNs = candidate.deadlineNs;
    }
    if (best >= 0) this.runLargest(gpu, best, nowNs);
  }

  private runLargest(gpu: number, model: number, nowNs: number): void {
    const { candidate } = this;
    const queue = this.queues[model];
    candidate.form(gpu, model, queue, this.sizes[model], nowNs);
    const { first, count, batchIndex } = candidate;
    const endNs = nowNs + this.cluster.execNs(gpu, model, batchIndex);
    this.running.started(gpu, model, endNs, queue, first, count);
    queue.take(first, count, this.batch);
    this.run(gpu, model, batchIndex, count, nowNs);
    this.noteTaken(model);
  }

  /** Offers a batch that no free GPU took to the first GPU whose running batch is worth replacing. */
  private contend(model: number, nowNs: number): void {
    const { running, cluster, preemption } = this;
    const queue = this.queues[model];
    const sizes = this.sizes[model];
    if (queue.length === 0) return;
    if (cluster.warm.count(model) > 0) this.placement.crowded(model);
    const most = cluster.models[model].batchSizes[sizes - 1];
    const startNs = nowNs + running.stopNs;
    for (let gpu = cluster.warm.next(model, 0); gpu >= 0; gpu = cluster.warm.next(model, gpu + 1)) {
      const loss = running.count[gpu];
      // Avoids forming a batch that cannot be large enough.
      if (most < preemption * loss || queue.length < (preemption - 1) * loss) continue;
      if (!cluster.up.has(gpu) || !running.canStop(gpu, nowNs) || !this.serves(gpu, model)) continue;
      const count = this.candidate.countWith(running, { gpu, model, queue, sizes, startNs });
      // Always strictly more, since two batches of equal size would replace each other for ever.
      if (count <= loss || count < preemption * loss) continue;
      running.stopping(gpu, nowNs);
      this.dispatch.abort(gpu, nowNs);
      return;
    }
  }

  private noteTaken(model: number): void {
    if (this.queues[model].length === 0) this.waiting.delete(model);
  }
}
