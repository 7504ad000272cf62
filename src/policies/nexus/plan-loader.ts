import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher } from '../../core/policy.js';
import type { PackedGpu } from './packing.js';

/**
 * Loads the models of a plan onto the GPUs: each part of the plan goes to the GPU that already holds most of it, with
 * one LOAD at a time per GPU. Unplanned models stay until their pages are needed, and then the least recently used goes
 * first; a running one is waited for.
 */
export class PlanLoader {
  /** Row = GPU: models planned there. */
  private readonly planned: BitMatrix;
  /** By GPU: models still to be loaded. `behind`: GPUs that have such models. */
  private readonly missing: readonly number[][];
  private readonly behind: BitSet;

  constructor(
    private readonly cluster: Cluster,
    private readonly dispatch: Dispatcher,
    private readonly onUnload: (model: number) => void,
  ) {
    this.planned = new BitMatrix(cluster.gpus, cluster.models.length);
    this.missing = Array.from({ length: cluster.gpus }, () => []);
    this.behind = new BitSet(cluster.gpus);
  }

  /** Adopts a plan; returns the GPU of each of its parts, of which there are at most `gpus`. */
  adopt(plan: readonly PackedGpu[], gpus: readonly number[]): number[] {
    for (let gpu = 0; gpu < this.cluster.gpus; gpu++) {
      this.planned.clear(gpu);
      this.missing[gpu].length = 0;
    }
    this.behind.clear();
    const free = [...gpus];
    return plan.map((part) => {
      const [gpu] = free.splice(this.fittest(part, free), 1);
      for (const { load } of part.turns) {
        if (!this.planned.add(gpu, load.model) || this.cluster.held.has(load.model, gpu)) continue;
        this.missing[gpu].push(load.model);
        this.behind.add(gpu);
      }
      return gpu;
    });
  }

  /** Removes a model that leaves from the plan. */
  forget(model: number): void {
    for (const [gpu, missing] of this.missing.entries()) {
      this.planned.delete(gpu, model);
      if (missing.includes(model)) missing.splice(missing.indexOf(model), 1);
    }
  }

  schedule(nowNs: number): void {
    for (let gpu = this.behind.next(0); gpu >= 0; gpu = this.behind.next(gpu + 1)) {
      this.loadNext(gpu, nowNs);
      if (this.missing[gpu].length === 0) this.behind.delete(gpu);
    }
  }

  /** Index of the GPU that holds most pages of what the part needs; ties go to the first. */
  private fittest(part: PackedGpu, gpus: readonly number[]): number {
    let best = 0;
    let bestPages = -1;
    for (let i = 0; i < gpus.length; i++) {
      let pages = 0;
      for (const { load } of part.turns) {
        if (this.cluster.held.has(load.model, gpus[i])) pages += this.cluster.models[load.model].pages;
      }
      if (pages <= bestPages) continue;
      best = i;
      bestPages = pages;
    }
    return best;
  }

  private loadNext(gpu: number, nowNs: number): void {
    const missing = this.missing[gpu];
    while (missing.length > 0 && this.cluster.weights[gpu].outstanding === 0) {
      const model = missing[0];
      if (this.cluster.lacks(gpu, model)) {
        if (!this.makeRoom(gpu, this.cluster.models[model].pages, nowNs)) return;
        this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
      }
      missing.shift();
    }
  }

  private makeRoom(gpu: number, pages: number, nowNs: number): boolean {
    const { recency, pages: caches } = this.cluster;
    const list = recency.list(gpu);
    for (let slot = list.oldest; slot >= 0 && caches[gpu].free < pages; ) {
      const model = list.model(slot);
      slot = list.newer(slot);
      if (this.planned.has(gpu, model) || this.cluster.isRunning(gpu, model)) continue;
      this.dispatch.unload(gpu, model, nowNs);
      recency.remove(gpu, model);
      this.onUnload(model);
    }
    return caches[gpu].free >= pages;
  }
}
