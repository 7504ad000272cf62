import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import type { Cluster } from '../../core/cluster.js';
import { StaleList } from '../../core/demand.js';
import type { Dispatcher } from '../../core/policy.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Carries out a plan with one LOAD at a time per GPU and as few moves as possible: a model that the plan drops keeps
 * serving until its pages are needed. Then it gets no further requests, and is unloaded once its waiting requests have
 * been served. Between plans a model that is loaded nowhere is loaded if some GPU has free pages; nothing is evicted
 * for it.
 */
export class Placement {
  /** Row = GPU: models planned there; models that take no more requests there. */
  private readonly planned: BitMatrix;
  private readonly leaving: BitMatrix;
  /** Models still to be loaded for the plan, and their total pages. */
  private readonly pending: readonly number[][];
  private readonly pendingPages: Float64Array;
  /** GPUs with models to load. */
  private readonly moving: BitSet;
  /** Requested models that are loaded nowhere, first come first served. */
  private missing: StaleList;
  private stillMissing: StaleList;

  constructor(
    private readonly cluster: Cluster,
    private readonly dispatch: Dispatcher,
    /** True if the GPU must keep the model: requests wait for it there, or it runs. */
    private readonly isUsed: (gpu: number, model: number) => boolean,
    /** True if requests wait for a model that is loaded nowhere. */
    private readonly isAwaited: (model: number) => boolean,
  ) {
    const { gpus, models } = cluster;
    this.planned = new BitMatrix(gpus, models.length);
    this.leaving = new BitMatrix(gpus, models.length);
    this.pending = Array.from({ length: gpus }, () => []);
    this.pendingPages = new Float64Array(gpus);
    this.moving = new BitSet(gpus);
    this.missing = new StaleList(models.length);
    this.stillMissing = new StaleList(models.length);
  }

  /** True if requests for the model may be sent to the GPU. */
  serves(gpu: number, model: number): boolean {
    return this.cluster.warm.has(model, gpu) && !this.leaving.has(gpu, model);
  }

  /** Adopts a plan: models by GPU, in loading order. */
  follow(plan: readonly (readonly number[])[]): void {
    for (let gpu = 0; gpu < plan.length; gpu++) {
      this.forget(gpu);
      for (const model of plan[gpu]) {
        this.planned.add(gpu, model);
        if (this.cluster.held.has(model, gpu)) continue;
        this.pending[gpu].push(model);
        this.pendingPages[gpu] += this.cluster.models[model].pages;
        this.moving.add(gpu);
      }
    }
  }

  /** Drops the plan for the GPU. */
  forget(gpu: number): void {
    this.planned.clear(gpu);
    this.leaving.clear(gpu);
    this.pending[gpu].length = 0;
    this.pendingPages[gpu] = 0;
    this.moving.delete(gpu);
  }

  /** Removes a model that leaves from the plan. */
  forgetModel(model: number): void {
    for (const [gpu, pending] of this.pending.entries()) {
      this.planned.delete(gpu, model);
      this.leaving.delete(gpu, model);
      if (!pending.includes(model)) continue;
      pending.splice(pending.indexOf(model), 1);
      this.pendingPages[gpu] -= this.cluster.models[model].pages;
    }
  }

  /** Records a request for a model that is loaded nowhere. */
  want(model: number): void {
    this.missing.add(model);
  }

  /** True if a model that is loaded nowhere fits into free pages, now or after a LOAD, or if no GPU is in service. */
  hasRoomFor(model: number): boolean {
    const { exec } = this.cluster;
    const { pages } = this.cluster.models[model];
    let stranded = true;
    for (let gpu = 0; gpu < exec.length; gpu++) {
      if (exec[gpu].isClosed) continue;
      if (this.sparePages(gpu) >= pages) return true;
      stranded = false;
    }
    return stranded;
  }

  loaded(gpu: number, model: number): void {
    this.cluster.recency.touch(gpu, model);
    this.cluster.recency.insert(gpu, model);
  }

  lost(gpu: number, model: number): void {
    this.cluster.recency.remove(gpu, model);
  }

  schedule(nowNs: number): void {
    for (let gpu = this.moving.next(0); gpu >= 0; gpu = this.moving.next(gpu + 1)) {
      this.loadNext(gpu, nowNs);
    }
    if (this.missing.length > 0) this.loadMissing(nowNs);
  }

  private loadNext(gpu: number, nowNs: number): void {
    const { weights, models } = this.cluster;
    const pending = this.pending[gpu];
    while (pending.length > 0 && weights[gpu].outstanding === 0) {
      const model = pending[0];
      const { pages } = models[model];
      if (this.cluster.lacks(gpu, model)) {
        if (!this.makeRoom(gpu, pages, nowNs)) return;
        this.dispatch.load(gpu, model, nowNs, NEVER, nowNs);
      }
      pending.shift();
      this.pendingPages[gpu] -= pages;
    }
    if (pending.length > 0) return;
    // Models not unloaded by now may stay.
    this.leaving.clear(gpu);
    this.moving.delete(gpu);
  }

  /** Frees pages of models that the plan drops; false if some are still in use or being loaded. */
  private makeRoom(gpu: number, pages: number, nowNs: number): boolean {
    const { cluster, planned, leaving } = this;
    const { recency, models } = cluster;
    const list = recency.list(gpu);
    let expected = cluster.pages[gpu].free;
    for (let slot = list.oldest; slot >= 0; slot = list.newer(slot)) {
      if (leaving.has(gpu, list.model(slot))) expected += models[list.model(slot)].pages;
    }
    for (let slot = list.oldest; slot >= 0 && expected < pages; slot = list.newer(slot)) {
      const model = list.model(slot);
      if (planned.has(gpu, model) || !leaving.add(gpu, model)) continue;
      expected += models[model].pages;
    }
    for (let slot = list.oldest; slot >= 0 && cluster.pages[gpu].free < pages; ) {
      const model = list.model(slot);
      slot = list.newer(slot);
      if (!leaving.has(gpu, model) || this.isUsed(gpu, model)) continue;
      this.dispatch.unload(gpu, model, nowNs);
      leaving.delete(gpu, model);
      recency.remove(gpu, model);
    }
    return cluster.pages[gpu].free >= pages;
  }

  private loadMissing(nowNs: number): void {
    const { missing, stillMissing } = this;
    for (let i = 0; i < missing.length; i++) {
      const model = missing.at(i);
      if (this.cluster.held.count(model) > 0) continue;
      const gpu = this.roomiest(model);
      if (gpu >= 0) this.dispatch.load(gpu, model, nowNs, NEVER, nowNs);
      else if (this.isAwaited(model)) stillMissing.add(model);
    }
    missing.clear();
    this.missing = stillMissing;
    this.stillMissing = missing;
  }

  /** GPU with an idle WEIGHTS lane and the most free pages that has room for the model, or −1. */
  private roomiest(model: number): number {
    const { gpus, weights, models, bars } = this.cluster;
    let best = -1;
    let most = models[model].pages - 1;
    for (let gpu = 0; gpu < gpus; gpu++) {
      if (weights[gpu].outstanding > 0 || this.sparePages(gpu) <= most || bars.has(model, gpu)) continue;
      best = gpu;
      most = this.sparePages(gpu);
    }
    return best;
  }

  private sparePages(gpu: number): number {
    return this.cluster.pages[gpu].free - this.pendingPages[gpu];
  }
}
