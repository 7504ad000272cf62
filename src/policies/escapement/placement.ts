import { BitMatrix } from '../../core/bit-matrix.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher } from '../../core/policy.js';
import { NS_PER_MS, NS_PER_S } from '../../core/units.js';
import type { DemandForecast } from './demand-forecast.js';
import type { Durations } from './durations.js';
import type { Waiting } from './waiting.js';

/** Value of each copy beyond those that a model's traffic needs, relative to the one before. */
const ANOTHER_COPY = 0.1;
/** Requests of this much time are what keeping a model saves. */
const HORIZON_S = 1;
/** A LOAD must be worth this many times what it evicts. */
const HYSTERESIS = 1.2;
/** Without cause, placement is looked at this often. */
const PASS_NS = 10 * NS_PER_MS;

/**
 * Which models are on which GPUs: a copy is worth the requests that wait for it and those that are to be expected
 * soon. A GPU loads what is worth most per time of its LOAD, and only where that is clearly more than what must go
 * for it, so that nothing is swapped to and fro.
 */
export class Placement {
  private nextPassNs = 0;
  private copies = 0;
  /** INFERs under way, by GPU and model: weights that are in use stay. */
  private readonly running: Uint16Array;
  private readonly victims: Int32Array;
  private readonly chosen: BitMatrix;

  constructor(
    private readonly cluster: Cluster,
    private readonly dispatch: Dispatcher,
    private readonly durations: Durations,
    private readonly waiting: Waiting,
    private readonly demand: DemandForecast,
    private readonly favour: Float64Array,
  ) {
    this.running = new Uint16Array(cluster.gpus * cluster.models.length);
    this.victims = new Int32Array(cluster.models.length);
    this.chosen = new BitMatrix(1, cluster.models.length);
  }

  inferSent(gpu: number, model: number): void {
    this.running[gpu * this.cluster.models.length + model]++;
  }

  inferEnded(gpu: number, model: number): void {
    this.running[gpu * this.cluster.models.length + model]--;
  }

  /** Something has happened that may call for a LOAD at once. */
  urge(): void {
    this.nextPassNs = 0;
  }

  /** A copy has gone by itself, or is there. */
  changed(by: number): void {
    this.copies += by;
    this.urge();
  }

  /** Lets GPUs whose WEIGHTS lane is idle send a LOAD each. */
  schedule(nowNs: number): void {
    const { cluster } = this;
    if (nowNs < this.nextPassNs || this.copies === cluster.gpus * cluster.models.length) return;
    this.nextPassNs = nowNs + PASS_NS;
    for (let gpu = 0; gpu < cluster.gpus; gpu++) {
      if (cluster.weights[gpu].outstanding === 0) this.load(gpu, nowNs);
    }
  }

  private load(gpu: number, nowNs: number): void {
    const { cluster } = this;
    const model = this.best(gpu, nowNs);
    if (model < 0) return;
    const needed = cluster.models[model].pages - cluster.pages[gpu].free;
    const worth = this.worth(model, cluster.held.count(model), nowNs, cluster.loadNs(model));
    const victims = needed > 0 ? this.cheapestVictims(gpu, needed, worth / HYSTERESIS, nowNs) : 0;
    if (victims < 0) return;
    for (let i = 0; i < victims; i++) {
      this.dispatch.unload(gpu, this.victims[i], nowNs);
      this.waiting.cooled(gpu, this.victims[i]);
      this.copies--;
    }
    this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
    this.copies++;
  }

  /** The model that the GPU lacks and that is worth most per time of its LOAD; −1: none is worth one. */
  private best(gpu: number, nowNs: number): number {
    const { held, models } = this.cluster;
    let best = -1;
    let most = 0;
    for (let model = 0; model < models.length; model++) {
      if (held.has(model, gpu)) continue;
      const loadNs = this.cluster.loadNs(model);
      const perTime = this.worth(model, held.count(model), nowNs, loadNs) / loadNs;
      if (perTime <= most) continue;
      most = perTime;
      best = model;
    }
    return best;
  }

  /** What a copy is worth where there are `copies` others, in requests, if it is there after `loadNs`. */
  private worth(model: number, copies: number, nowNs: number, loadNs: number): number {
    const queue = this.waiting.queues[model];
    const ratePerS = this.demand.ratePerS(model, nowNs);
    let requests = ratePerS * HORIZON_S;
    if (queue.length > 0) {
      const readyNs = nowNs + loadNs + this.durations.shortestNs(model);
      requests += queue.length - (loadNs > 0 ? queue.firstFrom(readyNs) : 0);
    }
    if (requests === 0) return 0;
    const largest = this.durations.row[model] + this.durations.usable[model] - 1;
    const needed = (ratePerS * this.durations.execNs[largest]) / this.durations.size[largest] / NS_PER_S;
    const served = copies < needed ? (needed - copies) / needed : 0;
    const spare = ANOTHER_COPY ** Math.max(0, copies - Math.floor(needed));
    return requests * Math.max(served, spare) * Math.exp(this.favour[model]);
  }

  /** Fills `victims` with models that make room for `pages`, least worth per page first; −1: not for less than `limit`. */
  private cheapestVictims(gpu: number, pages: number, limit: number, nowNs: number): number {
    const { cluster, chosen, victims } = this;
    const { warm, held, models } = cluster;
    let found = 0;
    let free = 0;
    let cost = 0;
    while (free < pages) {
      let best = -1;
      let least = Number.POSITIVE_INFINITY;
      for (let model = 0; model < models.length; model++) {
        if (!warm.has(model, gpu) || chosen.has(0, model)) continue;
        if (this.running[gpu * models.length + model] > 0) continue;
        const perPage = this.worth(model, held.count(model) - 1, nowNs, 0) / models[model].pages;
        if (perPage >= least) continue;
        least = perPage;
        best = model;
      }
      if (best < 0) break;
      chosen.add(0, best);
      victims[found++] = best;
      free += models[best].pages;
      cost += least * models[best].pages;
    }
    chosen.clear(0);
    return free < pages || cost > limit ? -1 : found;
  }
}
