import { BitMatrix } from '../../base/bit-matrix.js';
import { NS_PER_S } from '../../base/units.js';
import { Calendar } from '../../core/calendar.js';
import type { Cluster } from '../../core/cluster.js';
import type { Traffic } from './traffic.js';

/** Minimum requests saved per window for a replica to be worth its pages. */
const LEAST_SAVED = 0.5;
/** Utilization discount for a GPU that already holds the model, since moving costs a LOAD. */
const HOLDER_BONUS = 0.1;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Replicas for the traffic of the last window, by the paper's faster greedy search (§4.2): the model with the most
 * unserved requests gets a replica on the least utilized GPU with room, as long as that serves more requests in total.
 * Unserved requests are found by formula instead of simulation: a model's requests spread evenly over its n GPUs, which
 * lose as many as a queue with room for the number of requests that n GPUs can execute within the SLO. Batching is
 * ignored.
 */
export class ReplicaPlan {
  /** By GPU: models in the order they were chosen. */
  readonly chosen: readonly number[][];
  /** Row = model: GPUs with a replica. */
  private readonly placed: BitMatrix;
  private readonly utilisation: Float64Array;
  private readonly freePages: Int32Array;
  /** By model: requests per second not served in time; total of all models. */
  private readonly unserved: Float64Array;
  private total = 0;
  /** Models that may get another replica, by unserved requests, whose negatives serve as times. */
  private readonly needy: Calendar;
  /** By model: 1 if it gets no more replicas. */
  private readonly done: Uint8Array;
  private readonly leastRps: number;

  constructor(
    private readonly cluster: Cluster,
    private readonly traffic: Traffic,
    windowNs: number,
  ) {
    const { gpus, models } = cluster;
    this.chosen = Array.from({ length: gpus }, () => []);
    this.placed = new BitMatrix(models.length, gpus);
    this.utilisation = new Float64Array(gpus);
    this.freePages = new Int32Array(gpus);
    this.unserved = new Float64Array(models.length);
    this.needy = new Calendar(models.length);
    this.done = new Uint8Array(models.length);
    this.leastRps = (LEAST_SAVED * NS_PER_S) / windowNs;
  }

  /** Computes a new placement in `chosen`. */
  make(): void {
    this.reset();
    for (;;) {
      const { nextNs } = this.needy;
      if (-nextNs < this.leastRps) return;
      const model = this.needy.due(nextNs);
      const gpu = this.bestGpu(model);
      if (gpu >= 0 && this.place(model, gpu)) continue;
      this.done[model] = 1;
      this.needy.set(model, NEVER);
    }
  }

  private reset(): void {
    const { cluster } = this;
    for (let gpu = 0; gpu < cluster.gpus; gpu++) {
      this.chosen[gpu].length = 0;
      this.utilisation[gpu] = 0;
      this.freePages[gpu] = cluster.up.has(gpu) ? cluster.pages[gpu].capacity : 0;
    }
    this.done.fill(0);
    this.unserved.fill(0);
    this.total = 0;
    for (let model = 0; model < cluster.models.length; model++) {
      this.placed.clear(model);
      this.assess(model);
    }
  }

  /** Least utilized GPU with room for another replica, or −1. */
  private bestGpu(model: number): number {
    const { cluster, utilisation, freePages, placed } = this;
    const { pages } = cluster.models[model];
    let best = -1;
    let least = NEVER;
    for (let gpu = 0; gpu < cluster.gpus; gpu++) {
      if (freePages[gpu] < pages || placed.has(model, gpu) || cluster.bars.isAbsent(model, gpu)) continue;
      const used = utilisation[gpu] - (cluster.held.has(model, gpu) ? HOLDER_BONUS : 0);
      if (used >= least) continue;
      best = gpu;
      least = used;
    }
    return best;
  }

  /** Places a replica; removes it again and returns false if too few requests benefit. */
  private place(model: number, gpu: number): boolean {
    const { placed, chosen } = this;
    const before = this.total;
    this.spread(model, -1);
    placed.add(model, gpu);
    chosen[gpu].push(model);
    this.spread(model, 1);
    this.assessSharers(model);
    if (before - this.total >= this.leastRps) {
      this.freePages[gpu] -= this.cluster.models[model].pages;
      return true;
    }
    this.spread(model, -1);
    placed.delete(model, gpu);
    chosen[gpu].pop();
    this.spread(model, 1);
    this.assessSharers(model);
    this.assessOn(gpu);
    return false;
  }

  /** Adds the model's load to its GPUs, or removes it. */
  private spread(model: number, sign: number): void {
    const { placed, utilisation } = this;
    const share = (sign * this.traffic.rateRps[model] * this.aloneNs(model)) / NS_PER_S / placed.count(model);
    for (let gpu = placed.next(model, 0); gpu >= 0; gpu = placed.next(model, gpu + 1))
      utilisation[gpu] += share;
  }

  private assessSharers(model: number): void {
    for (let gpu = this.placed.next(model, 0); gpu >= 0; gpu = this.placed.next(model, gpu + 1)) {
      this.assessOn(gpu);
    }
    this.assess(model);
  }

  private assessOn(gpu: number): void {
    for (const model of this.chosen[gpu]) this.assess(model);
  }

  /** Number of the model's requests not served in time. */
  private assess(model: number): void {
    const unserved = this.traffic.rateRps[model] * this.missShare(model);
    this.total += unserved - this.unserved[model];
    this.unserved[model] = unserved;
    if (this.done[model] === 0) this.needy.set(model, unserved > 0 ? -unserved : NEVER);
  }

  private missShare(model: number): number {
    const { placed, utilisation } = this;
    const requestsInTime = this.traffic.sloNs[model] / this.aloneNs(model);
    // A model that can never be in time is not worth pages.
    if (requestsInTime < 1) return 0;
    const copies = placed.count(model);
    if (copies === 0) return 1;
    let sum = 0;
    for (let gpu = placed.next(model, 0); gpu >= 0; gpu = placed.next(model, gpu + 1))
      sum += utilisation[gpu];
    // Rounding of shares added and removed may leave a remainder below 0.
    return lossShare(Math.max(0, sum / copies), copies * requestsInTime);
  }

  private aloneNs(model: number): number {
    return this.cluster.nominalExecNs(model, 0);
  }
}

/**
 * Fraction of arrivals that find a queue full: M/M/1/K with offered load `load` and `places` requests in the system,
 * including the one in execution (Kleinrock, "Queueing Systems", vol. 1, §3.6). `places` may be fractional.
 */
export function lossShare(load: number, places: number): number {
  if (load === 1) return 1 / (places + 1);
  if (load < 1) return ((1 - load) * load ** places) / (1 - load ** (places + 1));
  // Numerator and denominator divided by load^places, which may overflow.
  return (load - 1) / (load - (1 / load) ** places);
}
