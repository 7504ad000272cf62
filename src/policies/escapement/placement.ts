import { BitSet } from '../../base/bit-set.js';
import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { Action } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import type { Dispatcher } from '../../core/policy.js';
import type { CopyWorth } from './copy-worth.js';
import type { Overdue } from './overdue.js';
import type { Waiting } from './waiting.js';

/** Minimum ratio of a LOAD's value to that of what it evicts. */
const HYSTERESIS = 2;
/** Interval of full passes without other cause, and after one without a LOAD if any LOAD evicts something. */
const PASS_NS = 10 * NS_PER_MS;
const IDLE_PASS_NS = 200 * NS_PER_MS;
/** Number of models ranked in addition to the number of GPUs, because a GPU may hold some of them. */
const MORE_RANKED = 16;

/**
 * Placement of models on GPUs. A GPU without a LOAD in progress loads the model with the highest value per LOAD time,
 * and only if that exceeds the value of what it evicts, to avoid thrashing. Models that have waiting requests and no
 * copy are considered whenever anything changes, all others at intervals. Requests that have waited for a long time take
 * precedence over expected ones.
 */
export class Placement {
  private nextPassNs = 0;
  private lastLookNs = 0;
  private urged = true;
  private copies = 0;
  /** Models that no GPU holds and that may have waiting requests. */
  private readonly missing: BitSet;
  /** Models chosen for eviction. */
  private readonly chosen: BitSet;
  private readonly victims: Int32Array;
  private readonly busyness: Busyness;
  /** GPUs that can LOAD, least busy first. */
  private readonly idle: Int32Array;
  /** By GPU: 1 if a LOAD is in progress; 1 if its last action was a LOAD. */
  private readonly loading: Uint8Array;
  private readonly loadedLast: Uint8Array;
  private readonly ranking: LoadRanking;

  constructor(
    private readonly cluster: Cluster,
    private readonly dispatch: Dispatcher,
    private readonly waiting: Waiting,
    private readonly copyWorth: CopyWorth,
    private readonly overdue: Overdue,
    private readonly onLoad: (gpu: number, model: number, actionId: number, nowNs: number) => void,
  ) {
    const { gpus, models } = cluster;
    this.missing = new BitSet(models.length);
    this.chosen = new BitSet(models.length);
    this.victims = new Int32Array(models.length);
    this.busyness = new Busyness(gpus);
    this.idle = new Int32Array(gpus);
    this.loading = new Uint8Array(gpus);
    this.ranking = new LoadRanking(cluster, copyWorth, MORE_RANKED);
    this.loadedLast = new Uint8Array(gpus);
  }

  inferSent(gpu: number): void {
    this.loadedLast[gpu] = 0;
  }

  inferEnded({ gpu, beginNs, endNs }: Action): void {
    this.busyness.ran(gpu, beginNs, endNs);
    // Models that it protected from eviction may be evicted now.
    this.urged = true;
  }

  /** Records that a request waits for the model. */
  want(model: number): void {
    if (this.cluster.held.count(model) > 0) return;
    this.missing.add(model);
    this.urged = true;
  }

  /** Call when a WEIGHTS lane may have become idle. */
  urge(): void {
    this.urged = true;
  }

  /** Records the result of a LOAD: the model is warm on the GPU, or absent. */
  loadEnded(gpu: number, model: number, ok: boolean): void {
    this.loading[gpu] = 0;
    this.urged = true;
    if (!ok) this.lost(model);
  }

  /** Records that the model is warm on a GPU without a LOAD. */
  found(model: number): void {
    this.missing.delete(model);
    this.copies++;
    this.urged = true;
  }

  /** Records that a GPU lost the model without eviction. */
  lost(model: number): void {
    this.copies--;
    this.urged = true;
    if (this.waiting.count[model] > 0 && this.cluster.held.count(model) === 0) this.missing.add(model);
  }

  /** Clears the state of a model that leaves and that no GPU holds. */
  forget(model: number): void {
    this.missing.delete(model);
    this.copyWorth.forget(model);
  }

  /**
   * Time of the next look if nothing happens first: the expected value of a copy decays, and then yields to what waits.
   * Infinity if nothing waits for a model that no GPU holds.
   */
  get nextLookNs(): number {
    const isWaitedFor = this.missing.count > 0 && !this.waiting.isEmpty;
    return isWaitedFor ? this.lastLookNs + IDLE_PASS_NS : Number.POSITIVE_INFINITY;
  }

  /** Lets each GPU without a LOAD in progress send one. */
  schedule(nowNs: number): void {
    const { cluster } = this;
    this.lastLookNs = nowNs;
    const isPass = nowNs >= this.nextPassNs;
    const isUrgent = this.urged && this.missing.count > 0;
    this.urged = false;
    if (!(isPass || isUrgent) || this.copies === cluster.up.count * cluster.modelCount) return;
    if (isPass) this.nextPassNs = nowNs + (this.pass(nowNs) || this.hasRoom() ? PASS_NS : IDLE_PASS_NS);
    else this.loadWanted(nowNs);
    this.loadOverdue(nowNs);
  }

  /** Lets each GPU load the most valuable of all models. */
  private pass(nowNs: number): boolean {
    const { ranking, cluster } = this;
    this.copyWorth.renew(nowNs);
    ranking.renew(nowNs);
    let sent = false;
    const idle = this.listIdle(nowNs);
    for (let i = 0; i < idle; i++) {
      const gpu = this.idle[i];
      let at = 0;
      while (at < ranking.length && !cluster.lacks(gpu, ranking.at(at))) at++;
      if (at === ranking.length || !this.load(gpu, ranking.at(at), nowNs)) continue;
      // Another copy would be worth less: it is considered in the next ranking.
      ranking.remove(at);
      sent = true;
    }
    return sent;
  }

  /** True if some GPU has room for any model that GPUs lack. */
  private hasRoom(): boolean {
    const { up, pages } = this.cluster;
    for (let gpu = up.next(0); gpu >= 0; gpu = up.next(gpu + 1))
      if (pages[gpu].free >= this.ranking.mostPages) return true;
    return false;
  }

  /** Lets each GPU load the most valuable of the models that have waiting requests and no copy. */
  private loadWanted(nowNs: number): void {
    const idle = this.listIdle(nowNs);
    for (let i = 0; i < idle; i++) {
      const gpu = this.idle[i];
      const model = this.bestMissing(gpu, nowNs);
      if (model >= 0) this.load(gpu, model, nowNs);
      else if (this.missing.count === 0) return;
    }
  }

  /** Lets models with long-waiting requests replace models without waiting requests, whatever their expected demand. */
  private loadOverdue(nowNs: number): void {
    const { missing, overdue, cluster } = this;
    for (let model = missing.next(0); model >= 0; model = missing.next(model + 1)) {
      if (!overdue.has(model, nowNs)) continue;
      const idle = this.listIdle(nowNs);
      for (let i = 0; i < idle; i++) {
        const gpu = this.idle[i];
        if (cluster.lacks(gpu, model) && this.load(gpu, model, nowNs, true)) break;
      }
    }
  }

  /** Lists the GPUs that can LOAD, least busy first; returns how many there are. */
  private listIdle(nowNs: number): number {
    return this.busyness.list(this.idle, nowNs, (gpu) => this.canLoad(gpu));
  }

  private canLoad(gpu: number): boolean {
    return this.loading[gpu] === 0 && !this.cluster.weights[gpu].isClosed && !this.mustServe(gpu);
  }

  /** True if the GPU must run an INFER first: with one lane, LOADs and INFERs take turns. */
  private mustServe(gpu: number): boolean {
    return this.cluster.oneLane && this.loadedLast[gpu] === 1 && this.waiting.isAny(gpu);
  }

  private load(gpu: number, model: number, nowNs: number, isOverdue = false): boolean {
    const { cluster } = this;
    const needed = cluster.models[model].pages - cluster.pages[gpu].free;
    const worth = this.copyWorth.toLoad(model, nowNs);
    if (needed > 0 && worth === 0) return false;
    const limit = isOverdue ? Number.POSITIVE_INFINITY : worth / HYSTERESIS;
    const victims =
      needed > 0
        ? this.chooseVictims(
            gpu,
            needed,
            limit,
            isOverdue ? this.copyWorth.weightOfWaiting(model) : -1,
            nowNs,
          )
        : 0;
    if (victims < 0) return false;
    for (let i = 0; i < victims; i++) this.evict(gpu, this.victims[i], nowNs);
    const id = this.dispatch.load(gpu, model, nowNs, Number.POSITIVE_INFINITY, nowNs);
    this.loading[gpu] = 1;
    this.loadedLast[gpu] = 1;
    this.copies++;
    this.missing.delete(model);
    this.onLoad(gpu, model, id, nowNs);
    return true;
  }

  private evict(gpu: number, model: number, nowNs: number): void {
    this.dispatch.unload(gpu, model, nowNs);
    this.waiting.cooled(gpu, model);
    this.copies--;
    if (this.waiting.count[model] > 0 && this.cluster.held.count(model) === 0) this.missing.add(model);
  }

  /** Such a model with the highest value per LOAD time that this GPU may load, or −1. */
  private bestMissing(gpu: number, nowNs: number): number {
    const { missing } = this;
    let best = -1;
    let most = 0;
    for (let model = missing.next(0); model >= 0; model = missing.next(model + 1)) {
      if (this.waiting.count[model] === 0) {
        missing.delete(model);
        continue;
      }
      if (!this.cluster.lacks(gpu, model)) continue;
      const perTime = this.copyWorth.toLoad(model, nowNs) / this.cluster.loadNs(model);
      if (perTime <= most) continue;
      most = perTime;
      best = model;
    }
    return best;
  }

  /**
   * Fills `victims` with models that make room for `pages`, lowest value per page first; −1 if they are worth `limit`
   * or more. `mostWeight`: excludes models that have waiting requests or get heavier ones; −1: no such limit.
   */
  private chooseVictims(
    gpu: number,
    pages: number,
    limit: number,
    mostWeight: number,
    nowNs: number,
  ): number {
    const onlyUnused = mostWeight >= 0;
    const { chosen, victims } = this;
    const { count, warm } = this.waiting;
    const { models } = this.cluster;
    let found = 0;
    let free = 0;
    let cost = 0;
    while (free < pages && cost <= limit) {
      let best = -1;
      let least = Number.POSITIVE_INFINITY;
      for (let model = warm.next(gpu, 0); model >= 0; model = warm.next(gpu, model + 1)) {
        if (chosen.has(model) || this.cluster.isRunning(gpu, model)) continue;
        if (onlyUnused && (count[model] > 0 || this.copyWorth.outweighs(model, mostWeight, nowNs))) continue;
        const perPage = this.copyWorth.toKeep(model) / models[model].pages;
        if (perPage >= least) continue;
        least = perPage;
        best = model;
      }
      if (best < 0) break;
      chosen.add(best);
      victims[found++] = best;
      free += models[best].pages;
      cost += least * models[best].pages;
    }
    chosen.clear();
    return free < pages || cost > limit ? -1 : found;
  }
}

/** Memory of the busyness average. */
const BUSY_NS = NS_PER_S;

/** Recent utilization of the GPUs' EXEC lanes. */
export class Busyness {
  /** By GPU: busy time of its lane, and the time of that value. */
  private readonly busyNs: Float64Array;
  private readonly atNs: Float64Array;
  /** By GPU: busy time as of the current listing. */
  private readonly nowBusyNs: Float64Array;
  /** All GPUs in the order of the last listing. Little changes between listings, so few are moved. */
  private readonly order: Int32Array;

  constructor(gpus: number) {
    this.busyNs = new Float64Array(gpus);
    this.atNs = new Float64Array(gpus);
    this.nowBusyNs = new Float64Array(gpus);
    this.order = Int32Array.from({ length: gpus }, (_, gpu) => gpu);
  }

  ran(gpu: number, beginNs: number, endNs: number): void {
    this.busyNs[gpu] = this.busyNs[gpu] * Math.exp((this.atNs[gpu] - endNs) / BUSY_NS) + endNs - beginNs;
    this.atNs[gpu] = endNs;
  }

  /** Fills `list` with the wanted GPUs, least busy first, then by number; returns how many there are. */
  list(list: Int32Array, nowNs: number, isWanted: (gpu: number) => boolean): number {
    const { order, busyNs, atNs, nowBusyNs } = this;
    let count = 0;
    this.renew(nowNs);
    for (let i = 0; i < order.length; i++) {
      const gpu = order[i];
      if (!isWanted(gpu)) continue;
      busyNs[gpu] = nowBusyNs[gpu];
      atNs[gpu] = nowNs;
      list[count++] = gpu;
    }
    return count;
  }

  private renew(nowNs: number): void {
    const { order, busyNs, atNs, nowBusyNs } = this;
    for (let gpu = 0; gpu < order.length; gpu++)
      nowBusyNs[gpu] = busyNs[gpu] * Math.exp((atNs[gpu] - nowNs) / BUSY_NS);
    for (let i = 1; i < order.length; i++) {
      const gpu = order[i];
      let at = i;
      for (; at > 0 && this.isBusier(order[at - 1], gpu); at--) order[at] = order[at - 1];
      order[at] = gpu;
    }
  }

  private isBusier(a: number, b: number): boolean {
    const { nowBusyNs } = this;
    return nowBusyNs[a] > nowBusyNs[b] || (nowBusyNs[a] === nowBusyNs[b] && a > b);
  }
}

/** Models by value of their next copy per LOAD time, best first. */
class LoadRanking {
  length = 0;
  /** Pages of the largest model that some GPU lacks. */
  mostPages = 0;
  private most = 0;
  private readonly models: Int32Array;
  private readonly perTime: Float64Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly copyWorth: CopyWorth,
    /** Number of models listed in addition to the number of GPUs. */
    private readonly more: number,
  ) {
    const most = Math.min(cluster.models.length, cluster.gpus + more);
    this.models = new Int32Array(most);
    this.perTime = new Float64Array(most);
  }

  at(index: number): number {
    return this.models[index];
  }

  /** Lists the best of all models that some GPU lacks. */
  renew(nowNs: number): void {
    const { cluster } = this;
    const most = Math.min(cluster.models.length, cluster.up.count + this.more);
    this.most = most;
    this.length = 0;
    this.mostPages = 0;
    for (let model = 0; model < cluster.models.length; model++) {
      if (cluster.held.count(model) === cluster.up.count) continue;
      this.mostPages = Math.max(this.mostPages, cluster.models[model].pages);
      const perTime = this.copyWorth.toLoad(model, nowNs) / cluster.loadNs(model);
      const isBetter = perTime > 0 && (this.length < most || perTime > this.perTime[most - 1]);
      if (isBetter && !cluster.isEverywhere(model)) this.insert(model, perTime);
    }
  }

  remove(index: number): void {
    this.length--;
    this.models.copyWithin(index, index + 1, this.length + 1);
    this.perTime.copyWithin(index, index + 1, this.length + 1);
  }

  private insert(model: number, perTime: number): void {
    const { models } = this;
    let at = this.length < this.most ? this.length++ : this.most - 1;
    for (; at > 0 && this.perTime[at - 1] < perTime; at--) {
      models[at] = models[at - 1];
      this.perTime[at] = this.perTime[at - 1];
    }
    models[at] = model;
    this.perTime[at] = perTime;
  }
}
