import type { BitMatrix } from '../base/bit-matrix.js';
import { NS_PER_MS } from '../base/units.js';

/** A GPU counts as having at least this much work, so that weights stay finite. */
const IDLE_OUTSTANDING = NS_PER_MS;
const INITIAL_WEIGHT = 0.01;
/** Far below one unit of demand, and above the rounding of a product: a whole share must not lose a unit. */
const ROUNDING = 1e-4;

/**
 * The load balancer's books (Clockwork, OSDI 2020, §5.3): how much work each model's waiting requests
 * demand, and how that demand is spread over the GPUs that hold the model. Demand is in integer units in
 * which `capacity` is what one GPU can do.
 *
 * Changes are collected; `refresh` spreads the demand of changed models again and adds them to `stale`,
 * from which priorities are derived.
 */
export class DemandTracker {
  readonly exec: Float64Array;
  readonly load: Float64Array;
  /** Models whose demand was spread again since the reader last emptied the list. */
  readonly stale: StaleList;

  private readonly changed: StaleList;
  /**
   * Where each model's demand is spread, as of its last spreading: GPUs `holders[model · gpus + i]` for i below
   * `holderCount[model]`, with their `allocation`. Lists are read far more often than they change.
   */
  private readonly holders: Int32Array;
  private readonly holderCount: Int32Array;
  private readonly allocation: Float64Array;
  /** 1 where the GPUs that hold the model are not those of the list any more. */
  private readonly hasMoved: Uint8Array;
  private readonly outstanding: Float64Array;
  private readonly weight: Float64Array;

  constructor(
    private readonly gpus: number,
    models: number,
    private readonly capacity: number,
    /** Row = model: GPUs that hold it or are loading it. */
    private readonly held: BitMatrix,
  ) {
    this.exec = new Float64Array(models);
    this.load = new Float64Array(models);
    this.changed = new StaleList(models);
    this.stale = new StaleList(models);
    this.holders = new Int32Array(models * gpus);
    this.holderCount = new Int32Array(models);
    this.hasMoved = new Uint8Array(models);
    this.allocation = new Float64Array(models * gpus);
    this.outstanding = new Float64Array(gpus).fill(IDLE_OUTSTANDING);
    this.weight = new Float64Array(gpus).fill(INITIAL_WEIGHT);
  }

  /** Demand of one request: its execution time as a share of the time left, in units of capacity. */
  unitsOf(execNs: number, withinNs: number): number {
    return Math.floor((execNs * this.capacity) / withinNs);
  }

  change(model: number, exec: number, load: number): void {
    this.exec[model] += exec;
    this.load[model] += load;
    this.changed.add(model);
  }

  /** The set of GPUs that hold the model changed. */
  moved(model: number): void {
    this.hasMoved[model] = 1;
    this.changed.add(model);
  }

  hasDemand(model: number): boolean {
    return this.exec[model] > 0 || this.load[model] > 0;
  }

  /** Spreads the demand of every changed model over its GPUs, in proportion to their weights. */
  refresh(): void {
    const { changed, stale } = this;
    for (let i = 0; i < changed.length; i++) {
      this.spread(changed.at(i));
      stale.add(changed.at(i));
    }
    changed.clear();
  }

  /** Load demand that the model's GPUs cannot serve: positive means it wants another copy. */
  loadPriority(model: number): number {
    const demand = this.load[model];
    if (demand <= 0 || this.holderCount[model] === 0) return demand;
    const { holders, weight, outstanding, capacity } = this;
    const base = model * this.gpus;
    const end = base + this.holderCount[model];
    let totalWeight = 0;
    for (let i = base; i < end; i++) totalWeight += weight[holders[i]];
    const perWeight = demand / totalWeight;
    let priority = demand;
    for (let i = base; i < end; i++) {
      const gpu = holders[i];
      const required = Math.floor(perWeight * weight[gpu] + ROUNDING);
      priority -= Math.floor((capacity * required) / outstanding[gpu]);
    }
    return priority;
  }

  /** For checks: the demand that is allocated to a GPU, over all models. */
  allocatedTo(gpu: number): number {
    return this.outstanding[gpu] - IDLE_OUTSTANDING;
  }

  /** Replaces what was allocated, in one pass over the GPUs that hold the model. */
  private spread(model: number): void {
    if (this.hasMoved[model] === 1) this.listHolders(model);
    const { holders, allocation, outstanding, weight, capacity } = this;
    const base = model * this.gpus;
    const end = base + this.holderCount[model];
    let totalWeight = 0;
    for (let i = base; i < end; i++) totalWeight += weight[holders[i]];
    const perWeight = this.exec[model] / totalWeight;
    for (let i = base; i < end; i++) {
      const gpu = holders[i];
      const share = Math.floor(perWeight * weight[gpu] + ROUNDING);
      const total = outstanding[gpu] - allocation[i] + share;
      allocation[i] = share;
      outstanding[gpu] = total;
      weight[gpu] = capacity / total;
    }
  }

  /** Notes which GPUs hold the model now; what was allocated to those before is taken back. */
  private listHolders(model: number): void {
    const { held, holders, allocation } = this;
    const base = model * this.gpus;
    const before = base + this.holderCount[model];
    for (let i = base; i < before; i++) this.outstanding[holders[i]] -= allocation[i];
    let end = base;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) {
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
