import { BitMatrix } from '../../base/bit-matrix.js';
import { BitSet } from '../../base/bit-set.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher } from '../../core/policy.js';
import type { DemandPlacement } from '../common/demand-placement.js';
import type { PackedGpu } from './packing.js';

/**
 * Loads the models of a plan onto the GPUs: of the GPUs with enough memory, each part of the plan goes to the one that
 * already holds most of it, with one LOAD at a time per GPU. Unplanned models stay until their pages are needed, and then
 * the least recently used goes first; while a running one is waited for, none goes.
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
    private readonly placement: DemandPlacement,
    private readonly onUnload: (model: number) => void,
  ) {
    this.planned = new BitMatrix(cluster.gpus, cluster.models.length);
    this.missing = Array.from({ length: cluster.gpus }, () => []);
    this.behind = new BitSet(cluster.gpus);
  }

  /** Adopts a plan for as many GPUs as it has parts, which fit the first of `gpus`; returns the GPU of each part. */
  adopt(plan: readonly PackedGpu[], gpus: readonly number[]): number[] {
    for (let gpu = 0; gpu < this.cluster.gpus; gpu++) {
      this.planned.clear(gpu);
      this.missing[gpu].length = 0;
    }
    this.behind.clear();
    const free = [...gpus];
    return plan.map((part, i) => {
      const [gpu] = free.splice(this.fittest(part, free, this.cluster.pages[gpus[i]].capacity), 1);
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

  /** Index of the GPU with `capacity` that holds most pages of what the part needs; ties go to the first. */
  private fittest(part: PackedGpu, gpus: readonly number[], capacity: number): number {
    let best = -1;
    let bestPages = -1;
    for (let i = 0; i < gpus.length; i++) {
      if (this.cluster.pages[gpus[i]].capacity < capacity) continue;
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
        const { pages } = this.cluster.models[model];
        if (!this.placement.makeRoom(gpu, pages, nowNs, this.isNeeded, this.onUnload)) return;
        this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
      }
      missing.shift();
    }
  }

  private readonly isNeeded = (gpu: number, model: number): boolean =>
    this.planned.has(gpu, model) || this.cluster.isRunning(gpu, model);
}
