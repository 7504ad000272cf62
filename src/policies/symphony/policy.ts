import { BitSet } from '../../base/bit-set.js';
import { lowestBit } from '../../base/bits.js';
import { NS_PER_S } from '../../base/units.js';
import { type Action, UNLOAD } from '../../core/action.js';
import { Calendar } from '../../core/calendar.js';
import { StaleList } from '../../core/demand.js';
import { type PolicyContext, REFUSE } from '../../core/policy.js';
import { DeadlineQueue } from '../common/deadline-queue.js';
import { OneBatchAtATime } from '../common/one-batch-at-a-time.js';
import { usableSizes, usableSizesOf } from '../common/usable-sizes.js';
import { Candidate } from './candidate.js';
import { RecentRates } from './recent-rates.js';

interface SymphonyOptions {
  readonly maxBatch: number;
  /** Safety margin before a request's deadline; one held for too long may still meet the deadline itself. */
  readonly marginNs: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Deferred batching ("Symphony: Optimized DNN Model Serving using Deferred Batch Scheduling", Chen et al., arXiv
 * 2308.07470, 2023). Each model has one candidate. It aims at the batch that its rate allows (`targetBatch`), gives up
 * requests that would keep it smaller, and takes as many as the first of the others allows. It is held, though GPUs may
 * idle, until its *frontrun* moment, after which no further request could join without making that one late; then it
 * goes to the GPU that has been free for longest. If none is free it is ready and waits; a GPU that becomes free takes
 * the ready candidate that must start first.
 *
 * Follows the authors' scheduler where the paper is silent. Simplified: one thread instead of one per model and one for
 * all GPUs; a GPU counts as free when the result of its batch has arrived; batch sizes are those of the profile;
 * requests that are passed over leave the queue when the candidate goes, not before. The paper has every model on every
 * GPU: here models are loaded on demand.
 */
export class SymphonyPolicy extends OneBatchAtATime {
  readonly name = 'symphony';
  private readonly marginNs: number;
  private readonly maxBatch: number;
  private readonly queues: readonly DeadlineQueue[];
  private readonly sizes: Int32Array;
  private readonly candidate: Candidate;
  private readonly rates: RecentRates;
  /** By GPU: end of its last batch. */
  private readonly freeSinceNs: Float64Array;
  /** By model: time at which its candidate becomes ready; Infinity if it already is, or there is none. */
  private readonly frontruns: Calendar;
  /** Models whose candidates wait for a GPU. */
  private readonly ready: BitSet;
  /** Models that get no more requests: their candidates wait for none. */
  private readonly retiring: BitSet;
  /** Models whose candidates may have changed. */
  private readonly changed: StaleList;
  /** True if a model became ready since the last matching with free GPUs. */
  private grown = false;

  constructor(context: PolicyContext, options: SymphonyOptions) {
    super(context);
    const { cluster } = context;
    this.marginNs = options.marginNs;
    this.maxBatch = options.maxBatch;
    this.queues = cluster.models.map(() => new DeadlineQueue());
    this.sizes = usableSizes(cluster.models, options.maxBatch);
    this.candidate = new Candidate(cluster, options.marginNs);
    this.rates = new RecentRates(cluster.models.length);
    this.freeSinceNs = new Float64Array(cluster.gpus);
    this.frontruns = new Calendar(cluster.models.length);
    this.ready = new BitSet(cluster.models.length);
    this.retiring = new BitSet(cluster.models.length);
    this.changed = new StaleList(cluster.models.length);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot];
    if (requests.dueNs[slot] === 0) this.rates.arrived(model, nowNs);
    const lastStartNs = this.cluster.latestStartNs(model, deadlineNs - this.marginNs, nowNs) + this.marginNs;
    // A request accepted earlier times out.
    if (lastStartNs - this.marginNs < nowNs && requests.dueNs[slot] === 0) return REFUSE;
    this.queues[model].push(slot, deadlineNs);
    // A ready candidate stays ready: it can only become larger or more urgent.
    if (!this.ready.has(model)) this.changed.add(model);
    this.placement.want(model);
    return lastStartNs + 1;
  }

  timedOut(slot: number): void {
    const model = this.requests.model[slot];
    this.queues[model].remove(slot);
    this.changed.add(model);
  }

  override finished(action: Action, nowNs: number): void {
    super.finished(action, nowNs);
    // Look again at any result: expected times may have changed.
    if (action.kind === UNLOAD) this.lanesChanged(action.gpu, nowNs);
  }

  protected override inferEnded({ gpu }: Action, nowNs: number): void {
    this.freeSinceNs[gpu] = nowNs;
  }

  override weightsFound(gpu: number, model: number, nowNs: number): void {
    super.weightsFound(gpu, model, nowNs);
    this.changed.add(model);
    this.grown = true;
  }

  modelCame(model: number): void {
    this.sizes[model] = usableSizesOf(this.cluster.models[model], this.maxBatch);
  }

  modelRetires(model: number): void {
    this.retiring.add(model);
    this.changed.add(model);
  }

  modelGoes(model: number): void {
    this.retiring.delete(model);
    this.ready.delete(model);
    this.frontruns.set(model, NEVER);
    this.rates.forget(model);
  }

  override schedule(nowNs: number): void {
    const { frontruns, changed } = this;
    for (let model = frontruns.due(nowNs); model >= 0; model = frontruns.due(nowNs)) {
      frontruns.set(model, NEVER);
      changed.add(model);
    }
    for (let i = 0; i < changed.length; i++) this.renew(changed.at(i), nowNs);
    changed.clear();
    super.schedule(nowNs);
  }

  /** Matches all free GPUs with all ready candidates. */
  protected override serveIdle(nowNs: number): void {
    if (this.idle.count === 0 && !this.grown) return;
    while (this.free.count > 0 && this.match(nowNs)) {}
    this.idle.clear();
    this.grown = false;
  }
  override nextWakeNs(): number {
    return this.frontruns.nextNs;
  }

  queued(model: number): number {
    return this.queues[model].length;
  }

  queuedBefore(slot: number): number {
    const { requests } = this;
    return this.queues[requests.model[slot]].countBefore(requests.arrivalNs[slot] + requests.sloNs[slot]);
  }

  /** Determines whether the model's candidate is ready on some kind of GPU, or when it will be. */
  private renew(model: number, nowNs: number): void {
    const { cluster, frontruns } = this;
    let frontrunNs = NEVER;
    for (let kind = 0; kind < cluster.kinds; kind++) {
      const gpu = this.firstWarm(model, kind);
      if (gpu < 0) continue;
      if (this.isReady(gpu, model, nowNs)) {
        this.ready.add(model);
        frontruns.set(model, NEVER);
        this.grown = true;
        this.placement.crowded(model);
        return;
      }
      frontrunNs = Math.min(frontrunNs, frontruns.get(model));
      frontruns.set(model, frontrunNs);
    }
  }

  /** First GPU of the kind that holds the model, or −1. */
  private firstWarm(model: number, kind: number): number {
    const { warm, kindOf } = this.cluster;
    let gpu = warm.next(model, 0);
    while (gpu >= 0 && kindOf[gpu] !== kind) gpu = warm.next(model, gpu + 1);
    return gpu;
  }

  /** Forms the candidate for this GPU. One that is not ready waits for its frontrun moment. */
  private isReady(gpu: number, model: number, nowNs: number): boolean {
    const { candidate } = this;
    const exists = this.form(gpu, model, nowNs);
    if (exists && (candidate.frontrunNs <= nowNs || this.retiring.has(model))) return true;
    this.ready.delete(model);
    this.frontruns.set(model, exists ? candidate.frontrunNs : NEVER);
    return false;
  }

  /** Sends the ready candidate that must start first among those that a free GPU holds; false if there is none. */
  private match(nowNs: number): boolean {
    const { ready, candidate } = this;
    let best = -1;
    let bestGpu = -1;
    let bestNs = NEVER;
    const { kinds } = this.cluster;
    for (let model = ready.next(0); model >= 0; model = ready.next(model + 1)) {
      for (let kind = 0; kind < kinds; kind++) {
        const gpu = this.longestFree(model, kind);
        if (gpu < 0 || !this.isReady(gpu, model, nowNs) || candidate.latestNs >= bestNs) continue;
        best = model;
        bestGpu = gpu;
        bestNs = candidate.latestNs;
      }
      // A candidate not ready on one kind may be ready on another that has no free GPU.
      if (kinds > 1) this.renew(model, nowNs);
    }
    if (best < 0) return false;
    this.runCandidate(bestGpu, best, nowNs);
    return true;
  }

  /** GPU of the kind with the model that has been free for longest, or −1. */
  private longestFree(model: number, kind: number): number {
    const { freeSinceNs } = this;
    const { warm, exec, kindOf } = this.cluster;
    let best = -1;
    for (let w = 0; w < warm.words; w++) {
      for (let bits = warm.word(model, w) & this.free.word(w); bits !== 0; bits &= bits - 1) {
        const gpu = (w << 5) + lowestBit(bits);
        if (kindOf[gpu] !== kind) continue;
        // With one lane, a LOAD may have taken it.
        if (exec[gpu].outstanding === 0 && (best < 0 || freeSinceNs[gpu] < freeSinceNs[best])) best = gpu;
      }
    }
    return best;
  }

  private form(gpu: number, model: number, nowNs: number): boolean {
    const { cluster } = this;
    const queue = this.queues[model];
    if (queue.length === 0) return false;
    const target = targetBatch({
      batchSizes: cluster.models[model].batchSizes,
      sizes: this.sizes[model],
      execNs: (b) => cluster.execNs(gpu, model, b),
      budgetNs: this.requests.sloNs[queue.slotAt(0)] - this.marginNs,
      rps: this.rates.rps(model, nowNs),
    });
    return this.candidate.form(gpu, model, queue, this.sizes[model], target, nowNs);
  }

  private runCandidate(gpu: number, model: number, nowNs: number): void {
    const { candidate } = this;
    const queue = this.queues[model];
    this.form(gpu, model, nowNs);
    const { first, count, batchIndex } = candidate;
    queue.take(first, count, this.batch);
    for (let passed = 0; passed < first; passed++) queue.remove(queue.slotAt(0));
    this.run(gpu, model, batchIndex, count, nowNs);
    this.ready.delete(model);
    this.renew(model, nowNs);
  }
}

interface TargetBatchInput {
  readonly batchSizes: readonly number[];
  /** Number of usable sizes. */
  readonly sizes: number;
  /** Time of a batch of each size. */
  readonly execNs: (batchIndex: number) => number;
  /** Time budget of a request from arrival to answer. */
  readonly budgetNs: number;
  /** Requests per second; undefined: not yet known. */
  readonly rps: number | undefined;
}

/**
 * Target batch size of a model, at least 1. With ℓ(b) the time of a batch and n the GPUs that the rate keeps busy in
 * batches of b:
 * - before a rate is known: the largest b with ℓ(b) ≤ budget / 2;
 * - if n > 1: the largest b with ℓ(b) · (1 + 1/n) ≤ budget, since a GPU becomes free every ℓ(b) / n;
 * - otherwise: the most requests that can gather and then run within the budget, b / rate + ℓ(b) ≤ budget.
 */
export function targetBatch(input: TargetBatchInput): number {
  const { batchSizes, sizes, execNs, budgetNs, rps } = input;
  let best = 1;
  for (let i = 0; i < sizes; i++) {
    const gpus = rps === undefined ? 1 : (rps * execNs(i)) / (batchSizes[i] * NS_PER_S);
    if (execNs(i) * (1 + 1 / Math.max(1, gpus)) > budgetNs) {
      return rps === undefined || gpus > 1 ? best : gathering(input, rps);
    }
    best = batchSizes[i];
  }
  return best;
}

function gathering({ batchSizes, sizes, execNs, budgetNs }: TargetBatchInput, rps: number): number {
  let best = 1;
  for (let i = 0; i < sizes; i++) {
    const gathered = Math.floor(((budgetNs - execNs(i)) * rps) / NS_PER_S);
    best = Math.max(best, Math.min(batchSizes[i], gathered));
  }
  return best;
}
