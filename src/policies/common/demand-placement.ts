import type { Cluster } from '../../core/cluster.js';
import { StaleList } from '../../core/demand.js';
import type { Dispatcher } from '../../core/policy.js';

/** GPUs that each model may be loaded onto: those from `first[model]` up to `end[model]`. Its owner may change it. */
export interface GpuRanges {
  readonly first: Int32Array;
  readonly end: Int32Array;
}

/**
 * Loads models on demand: a model that is loaded nowhere goes to the GPU with the most free pages, which evicts its
 * least recently used ones; a model whose GPUs are all busy gets another copy if pages are free. One LOAD at a time per
 * GPU. A model with waiting requests is never evicted, and one without is not loaded.
 */
export class DemandPlacement {
  /** Models with requests that are loaded nowhere, first come first served; those whose GPUs may all be busy. */
  private missing: StaleList;
  private stillMissing: StaleList;
  private readonly crowdedModels: StaleList;

  constructor(
    private readonly cluster: Cluster,
    private readonly dispatch: Dispatcher,
    /** Number of requests that wait for a model. */
    private readonly queued: (model: number) => number,
    private readonly ranges: GpuRanges = allGpus(cluster),
  ) {
    this.missing = new StaleList(cluster.models.length);
    this.stillMissing = new StaleList(cluster.models.length);
    this.crowdedModels = new StaleList(cluster.models.length);
  }

  /** Records that a request waits for the model. */
  want(model: number): void {
    if (!this.isHeld(model)) this.missing.add(model);
  }

  /** Records that the model has a batch due and possibly no free GPU to run it. */
  crowded(model: number): void {
    if (!this.cluster.isEverywhere(model)) this.crowdedModels.add(model);
  }

  loaded(gpu: number, model: number): void {
    this.cluster.recency.touch(gpu, model);
    this.cluster.recency.insert(gpu, model);
  }

  schedule(nowNs: number): boolean {
    const sent = this.placeMissing(nowNs);
    let copied = false;
    for (let i = 0; i < this.crowdedModels.length; i++) {
      if (this.replicate(this.crowdedModels.at(i), nowNs)) copied = true;
    }
    this.crowdedModels.clear();
    return sent || copied;
  }

  /**
   * Frees pages, least recently used models first; evicts nothing if that would not suffice. `isNeeded`: the GPU must keep
   * the model; by default if requests wait for it, or if it runs.
   */
  makeRoom(
    gpu: number,
    pages: number,
    nowNs: number,
    isNeeded = this.isNeeded,
    evicted?: (model: number) => void,
  ): boolean {
    const { recency, pages: caches, models } = this.cluster;
    let possible = caches[gpu].free;
    const list = recency.list(gpu);
    for (let slot = list.oldest; slot >= 0 && possible < pages; slot = list.newer(slot)) {
      const model = list.model(slot);
      if (!isNeeded(gpu, model)) possible += models[model].pages;
    }
    if (possible < pages) return false;
    for (let slot = list.oldest; caches[gpu].free < pages; ) {
      const model = list.model(slot);
      slot = list.newer(slot);
      if (isNeeded(gpu, model)) continue;
      this.dispatch.unload(gpu, model, nowNs);
      recency.remove(gpu, model);
      evicted?.(model);
    }
    return true;
  }

  private readonly isNeeded = (gpu: number, model: number): boolean =>
    this.queued(model) > 0 || this.cluster.isRunning(gpu, model);

  private placeMissing(nowNs: number): boolean {
    const { missing, stillMissing } = this;
    let sent = false;
    for (let i = 0; i < missing.length; i++) {
      const model = missing.at(i);
      if (this.isHeld(model) || this.queued(model) === 0) continue;
      if (this.place(model, nowNs)) sent = true;
      else stillMissing.add(model);
    }
    missing.clear();
    this.missing = stillMissing;
    this.stillMissing = missing;
    return sent;
  }

  /** True if a GPU that may hold the model holds it or is loading it. */
  private isHeld(model: number): boolean {
    const gpu = this.cluster.held.next(model, this.ranges.first[model]);
    return gpu >= 0 && gpu < this.ranges.end[model];
  }

  private place(model: number, nowNs: number): boolean {
    const gpu = this.roomiest(model);
    if (gpu < 0 || !this.makeRoom(gpu, this.cluster.models[model].pages, nowNs)) return false;
    this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
    return true;
  }

  private replicate(model: number, nowNs: number): boolean {
    const { held, lanes } = this.cluster;
    if (held.nextCommon(model, lanes.idleExec, 0) >= 0) return false;
    const gpu = this.roomiest(model);
    if (gpu < 0 || this.cluster.pages[gpu].free < this.cluster.models[model].pages) return false;
    this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
    return true;
  }

  /** GPU without the model and with an idle WEIGHTS lane that has the most free pages, or −1. */
  private roomiest(model: number): number {
    const { lanes, pages } = this.cluster;
    const end = this.ranges.end[model];
    let best = -1;
    let gpu = lanes.idleWeights.next(this.ranges.first[model]);
    for (; gpu >= 0 && gpu < end; gpu = lanes.idleWeights.next(gpu + 1)) {
      if (best >= 0 && pages[gpu].free <= pages[best].free) continue;
      if (this.cluster.lacks(gpu, model)) best = gpu;
    }
    return best;
  }
}

function allGpus({ models, gpus }: Cluster): GpuRanges {
  return { first: new Int32Array(models.length), end: new Int32Array(models.length).fill(gpus) };
}
