import { BitSet } from '../../base/bit-set.js';
import type { Cluster } from '../../core/cluster.js';
import type { GpuRanges } from '../common/demand-placement.js';

/** Weight of the newest period in a model's load. */
const SMOOTHING = 0.5;
/** Tolerated imbalance, as a multiple of the even load, before a model changes groups: moving it costs LOADs. */
const EVEN_ENOUGH = 1.1;
/** Ranks of a group: room for a model; room only after evicting others. */
const ROOM = 2;
const CROWDED = 1;

/**
 * Assignment of models to GPUs: the GPUs in service form groups of equal size in order of number, as few as keep the
 * weights of a group's models within the memory of each of its GPUs. Every period the models are assigned again, by
 * descending load, each to the group with the least load per GPU that has room for its weights and a GPU of a kind that
 * may hold it. The plan is renewed at the first event after a period, so an idle cluster plans nothing.
 */
export class GroupPlan implements GpuRanges {
  readonly first: Int32Array;
  readonly end: Int32Array;
  private groups: number;
  private readonly groupOf: Int32Array;
  /** By model: smoothed GPU time per time that its requests need in full batches. */
  private readonly load: Float64Array;
  private readonly arrivals: Float64Array;
  private plannedNs = 0;
  /** GPUs in service when the models were last assigned, also in order of number. */
  private readonly known: BitSet;
  private readonly gpus: number[] = [];
  /** By group: load assigned so far. */
  private readonly groupLoad: Float64Array;
  private readonly groupPages: Float64Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly sizes: Int32Array,
    private readonly periodNs: number,
  ) {
    const { models, gpus } = cluster;
    this.known = new BitSet(gpus);
    this.listGpus();
    this.groups = this.groupsNeeded();
    this.first = new Int32Array(models.length);
    this.end = new Int32Array(models.length).fill(gpus);
    this.groupOf = new Int32Array(models.length);
    this.load = new Float64Array(models.length);
    this.arrivals = new Float64Array(models.length);
    this.groupLoad = new Float64Array(gpus);
    this.groupPages = new Float64Array(gpus);
    this.deal();
  }

  /** Call when models or GPUs changed: all models are assigned again. */
  changed(): void {
    this.listGpus();
    this.regroup();
    this.deal();
  }

  /** True if the GPU left or joined since the models were assigned. */
  isNews(gpu: number): boolean {
    return this.known.has(gpu) !== this.cluster.up.has(gpu);
  }

  /** Removes a model that leaves. Its group has room for others from the next period on. */
  forget(model: number): void {
    this.load[model] = 0;
    this.arrivals[model] = 0;
    this.groupOf[model] = 0;
  }

  arrived(model: number): void {
    this.arrivals[model]++;
  }

  isDue(nowNs: number): boolean {
    return this.groups > 1 && nowNs - this.plannedNs >= this.periodNs;
  }

  renew(nowNs: number): void {
    const elapsedNs = nowNs - this.plannedNs;
    for (let model = 0; model < this.load.length; model++) {
      const present = (this.arrivals[model] * this.costNs(model)) / elapsedNs;
      this.load[model] += SMOOTHING * (present - this.load[model]);
    }
    this.arrivals.fill(0);
    this.plannedNs = nowNs;
    this.regroup();
    this.deal();
  }

  private listGpus(): void {
    const { gpus, known, cluster } = this;
    gpus.length = 0;
    known.clear();
    for (let gpu = cluster.up.next(0); gpu >= 0; gpu = cluster.up.next(gpu + 1)) {
      gpus.push(gpu);
      known.add(gpu);
    }
  }

  private regroup(): void {
    const groups = this.groupsNeeded();
    if (groups !== this.groups) this.groupOf.fill(0);
    this.groups = groups;
  }

  private groupsNeeded(): number {
    const { cluster } = this;
    let pages = 0;
    for (let model = 0; model < cluster.models.length; model++)
      if (cluster.hasModel(model)) pages += cluster.models[model].pages;
    return Math.max(1, Math.min(this.gpus.length, Math.ceil(pages / this.leastPages(0, this.gpus.length))));
  }

  /** GPU time of one request in a full batch. */
  private costNs(model: number): number {
    const largest = this.sizes[model] - 1;
    return this.cluster.nominalExecNs(model, largest) / this.cluster.models[model].batchSizes[largest];
  }

  private deal(): void {
    const { load, groupOf, groupLoad, groupPages, cluster, gpus } = this;
    groupLoad.fill(0);
    groupPages.fill(0);
    const even = (load.reduce((sum, one) => sum + one, 0) / gpus.length) * EVEN_ENOUGH;
    const present = Array.from(load.keys()).filter((model) => cluster.hasModel(model));
    const order = present.sort((a, b) => load[b] - load[a] || a - b);
    for (const model of order) {
      const home = groupOf[model];
      const stays =
        this.room(home, model) === ROOM && groupLoad[home] + load[model] <= even * this.size(home);
      const group = stays && this.plannedNs > 0 ? home : this.leastLoaded(model);
      groupOf[model] = group;
      groupLoad[group] += load[model];
      groupPages[group] += cluster.models[model].pages;
      this.first[model] = gpus[this.begin(group)] ?? 0;
      this.end[model] = gpus[this.begin(group + 1)] ?? cluster.gpus;
    }
  }

  /** Room takes precedence over load, and load over pages; the model's current group wins a tie. */
  private leastLoaded(model: number): number {
    const { groupLoad, groupPages } = this;
    let best = this.groupOf[model];
    for (let group = 0; group < this.groups; group++) {
      const room = this.room(group, model) - this.room(best, model);
      const load = groupLoad[group] / this.size(group) - groupLoad[best] / this.size(best);
      const isBetter = room !== 0 ? room > 0 : load !== 0 ? load < 0 : groupPages[group] < groupPages[best];
      if (isBetter) best = group;
    }
    return best;
  }

  /** `ROOM` if the group has room for the model in addition to those assigned; 0 if no GPU of it may hold the model. */
  private room(group: number, model: number): number {
    const { cluster, gpus, groupPages } = this;
    const from = this.begin(group);
    const to = this.begin(group + 1);
    let suits = false;
    for (let i = from; i < to && !suits; i++) suits = cluster.suits(gpus[i], model);
    if (!suits) return 0;
    return groupPages[group] + cluster.models[model].pages <= this.leastPages(from, to) ? ROOM : CROWDED;
  }

  /** Smallest memory of `gpus` from one index up to another. */
  private leastPages(from: number, to: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (let i = from; i < to; i++) least = Math.min(least, this.cluster.pages[this.gpus[i]].capacity);
    return least;
  }

  /** Index in `gpus` at which the group begins. */
  private begin(group: number): number {
    return Math.floor((group * this.gpus.length) / this.groups);
  }

  private size(group: number): number {
    return this.begin(group + 1) - this.begin(group);
  }
}
