import { BitMatrix } from '../base/bit-matrix.js';
import { NS_PER_MS } from '../base/units.js';
import { DueQueue } from './due-queue.js';

/** Floor on a GPU's outstanding work, so that weights stay finite. */
const IDLE_OUTSTANDING = NS_PER_MS;
const INITIAL_WEIGHT = 0.01;
/**
 * The load balancer's books (Clockwork, OSDI 2020, §5.3): the work that each model's waiting requests demand, and how
 * that demand is spread over the GPUs that hold the model. Demand is in integer units in which `capacity` is what one
 * GPU can do, of the fastest kind where there are several. Demand allocated to a slower GPU takes longer there and is
 * scaled up accordingly.
 *
 * Changes of demand are collected, and `refresh` applies them model by model; with one GPU there is nothing to balance,
 * and they are applied at once. Whenever a model's demand is spread again, the model is added to `stale`, from which
 * priorities are derived, unless every GPU holds it as before.
 */
export class DemandTracker {
  /** Row = model: GPUs that hold it, are loading it, or have chosen it for a LOAD. */
  readonly holding: BitMatrix;
  /** Models whose priority may have changed since the reader last emptied the list. */
  readonly stale: StaleList;

  private readonly exec: Float64Array;
  private readonly load: Float64Array;
  /** Models with changes for `refresh` to apply. */
  private readonly changed: StaleList;
  private readonly newExec: Float64Array;
  private readonly newLoad: Float64Array;
  /**
   * By model: GPUs over which its demand was last spread, `holders[model · gpus + i]` for i below `holderCount[model]`,
   * with their `allocation`. Lists are read far more often than they change.
   */
  private readonly holders: Int32Array;
  private readonly holderCount: Int32Array;
  private readonly allocation: Float64Array;
  /** 1 if the GPUs that hold the model differ from those listed. */
  private readonly hasMoved: Uint8Array;
  private readonly outstanding: Float64Array;
  private readonly weight: Float64Array;
  /** By model: time within which a LOAD for its last request should start; 0: no request since `refresh`. */
  private readonly loadSlackNs: Float64Array;
  /**
   * Times at which models are spread once more because a LOAD for their requests should have started. No demand ends
   * then, but shares and weights are renewed, as in the published scheduler.
   */
  private readonly reviews = new DueQueue();
  private reviewCount = 0;
  /** Time of the next review; Infinity: none. */
  nextReviewNs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly gpus: number,
    models: number,
    private readonly capacity: number,
    /** Speed of a GPU on a model relative to the fastest kind, from 0 to 1; null: all GPUs are alike. */
    private readonly rateOn: ((gpu: number, model: number) => number) | null = null,
  ) {
    this.holding = new BitMatrix(models, gpus);
    this.stale = new StaleList(models);
    this.exec = new Float64Array(models);
    this.load = new Float64Array(models);
    this.changed = new StaleList(models);
    this.newExec = new Float64Array(models);
    this.newLoad = new Float64Array(models);
    this.loadSlackNs = new Float64Array(models);
    this.holders = new Int32Array(models * gpus);
    this.holderCount = new Int32Array(models);
    this.hasMoved = new Uint8Array(models);
    this.allocation = new Float64Array(models * gpus);
    this.outstanding = new Float64Array(gpus).fill(IDLE_OUTSTANDING);
    this.weight = new Float64Array(gpus).fill(INITIAL_WEIGHT);
  }

  /** Demand of one request in units of capacity: its execution time as a share of the time left. */
  unitsOf(execNs: number, withinNs: number): number {
    return Math.floor((execNs * this.capacity) / withinNs);
  }

  /** Adds the demand of a request that arrived. A LOAD for it should start within `loadSlackNs`. */
  arrived(model: number, exec: number, load: number, loadSlackNs: number): void {
    this.loadSlackNs[model] = loadSlackNs;
    this.change(model, exec, load);
  }

  change(model: number, exec: number, load: number): void {
    if (this.gpus === 1) {
      this.exec[model] += exec;
      this.load[model] += load;
      if (this.holderCount[model] === 0) this.stale.add(model);
      return;
    }
    this.newExec[model] += exec;
    this.newLoad[model] += load;
    this.changed.add(model);
  }

  /** Records that the GPU gained (+1) or lost (−1) the model. */
  moved(model: number, gpu: number, by: 1 | -1): void {
    this.hold(model, gpu, by);
    if (this.gpus === 1) this.spread(model);
    else this.changed.add(model);
  }

  /** Records the move and spreads the model's demand at once. */
  moveNow(model: number, gpu: number, by: 1 | -1): void {
    this.hold(model, gpu, by);
    this.spread(model);
  }

  hasDemand(model: number): boolean {
    return this.exec[model] > 0 || this.load[model] > 0;
  }

  /** True if `refresh` would do nothing. */
  isQuiet(nowNs: number): boolean {
    return this.changed.length === 0 && this.nextReviewNs >= nowNs;
  }

  /** Applies collected changes, and spreads the demand of every changed model over its GPUs. */
  refresh(nowNs: number): void {
    if (this.nextReviewNs < nowNs) this.review(nowNs);
    const { changed } = this;
    if (changed.length === 0) return;
    for (let i = 0; i < changed.length; i++) this.take(changed.at(i), nowNs);
    changed.clear();
  }

  /**
   * Load demand that the model's GPUs cannot serve: positive means it wants another copy. −Infinity if all GPUs hold it
   * already.
   */
  loadPriority(model: number): number {
    if (this.holderCount[model] === this.gpus) return Number.NEGATIVE_INFINITY;
    const demand = this.load[model];
    if (demand <= 0 || this.holderCount[model] === 0) return demand;
    const { holders, weight, outstanding, capacity, rateOn } = this;
    const base = model * this.gpus;
    const end = base + this.holderCount[model];
    const totalWeight = this.totalWeight(model, base, end);
    let priority = demand;
    for (let i = base; i < end; i++) {
      const gpu = holders[i];
      const required = Math.floor(demand * (weight[gpu] / totalWeight));
      const rate = rateOn === null ? 1 : rateOn(gpu, model);
      priority -= Math.floor((capacity * required * rate) / outstanding[gpu]);
    }
    return priority;
  }

  /** For checks: demand allocated to a GPU over all models, if there are several GPUs. */
  allocatedTo(gpu: number): number {
    return this.outstanding[gpu] - IDLE_OUTSTANDING;
  }

  private hold(model: number, gpu: number, by: 1 | -1): void {
    if (by > 0) this.holding.add(model, gpu);
    else this.holding.delete(model, gpu);
    this.hasMoved[model] = 1;
  }

  /** Spreads models whose review is due, using their demand before pending changes. */
  private review(nowNs: number): void {
    const { reviews } = this;
    while (reviews.topNs < nowNs) {
      const model = reviews.topSlot;
      reviews.pop();
      if (this.holderCount[model] > 0 || this.hasMoved[model] === 1) this.spread(model);
    }
    this.nextReviewNs = reviews.topNs;
  }

  /** Applies the model's pending changes. */
  private take(model: number, nowNs: number): void {
    this.exec[model] += this.newExec[model];
    this.load[model] += this.newLoad[model];
    this.newExec[model] = 0;
    this.newLoad[model] = 0;
    this.spread(model);
    const slackNs = this.loadSlackNs[model];
    if (slackNs === 0) return;
    this.loadSlackNs[model] = 0;
    this.reviews.push(nowNs + slackNs, model, this.reviewCount++);
    this.nextReviewNs = this.reviews.topNs;
  }

  /**
   * Replaces the allocation in one pass over the GPUs that hold the model, in proportion to their weights. A GPU's
   * weight is renewed where a share is added, not where one is only removed. With one GPU no priority depends on any of
   * this.
   */
  private spread(model: number): void {
    const { gpus, holderCount } = this;
    const before = holderCount[model];
    if (this.hasMoved[model] === 1) this.listHolders(model);
    if (before < gpus || holderCount[model] < gpus) this.stale.add(model);
    if (gpus === 1) return;
    const { holders, allocation, outstanding, weight, capacity } = this;
    const base = model * gpus;
    const end = base + holderCount[model];
    const exec = this.exec[model];
    const totalWeight = exec > 0 ? this.totalWeight(model, base, end) : 0;
    for (let i = base; i < end; i++) {
      const gpu = holders[i];
      const share = exec > 0 ? Math.floor(exec * (weight[gpu] / totalWeight)) : 0;
      const total = outstanding[gpu] - allocation[i] + share;
      allocation[i] = share;
      outstanding[gpu] = total;
      weight[gpu] = capacity / total;
    }
  }

  /** Capacity for the model, summed over its holders from `base` up to `end`. */
  private totalWeight(model: number, base: number, end: number): number {
    const { holders, weight, rateOn } = this;
    let total = 0;
    if (rateOn === null) for (let i = base; i < end; i++) total += weight[holders[i]];
    else for (let i = base; i < end; i++) total += weight[holders[i]] * rateOn(holders[i], model);
    return total;
  }

  /** Lists the model's present holders, after removing allocations to the previous ones. */
  private listHolders(model: number): void {
    const { holding, holders, allocation } = this;
    const base = model * this.gpus;
    const before = base + this.holderCount[model];
    for (let i = base; i < before; i++) this.outstanding[holders[i]] -= allocation[i];
    let end = base;
    for (let gpu = holding.next(model, 0); gpu >= 0; gpu = holding.next(model, gpu + 1)) {
      holders[end] = gpu;
      allocation[end++] = 0;
    }
    this.holderCount[model] = end - base;
    this.hasMoved[model] = 0;
  }
}

/** A list of models without repeats, in the order they were first added. */
export class StaleList {
  length = 0;
  private readonly items: Int32Array;
  private readonly listed: Uint8Array;

  constructor(models: number) {
    this.items = new Int32Array(models);
    this.listed = new Uint8Array(models);
  }

  add(model: number): void {
    if (this.listed[model] !== 0) return;
    this.listed[model] = 1;
    this.items[this.length++] = model;
  }

  at(index: number): number {
    return this.items[index];
  }

  clear(): void {
    for (let i = 0; i < this.length; i++) this.listed[this.items[i]] = 0;
    this.length = 0;
  }
}
