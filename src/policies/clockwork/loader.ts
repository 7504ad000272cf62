import type { Action } from '../../core/action.js';
import type { Booking } from '../../core/booking.js';
import type { Cluster } from '../../core/cluster.js';
import type { DemandTracker } from '../../core/demand.js';
import type { Dispatcher } from '../../core/policy.js';
import { LoadOrder } from './load-order.js';

/**
 * LOAD and UNLOAD: while a GPU's WEIGHTS lane is booked less than schedule_ahead into the future, it loads the model
 * with the highest load priority that it lacks, and evicts the least recently used ones for it, models without demand
 * first.
 */
export class Loader {
  private readonly order: LoadOrder;
  private turn = 0;
  /** True if a wanted LOAD was not possible in the last pass, so that asking again may succeed without new input. */
  blocked = false;
  /**
   * By GPU: time at which it last refused a LOAD in the instant it was sent, because its clock is off by more than a
   * window. If retried at once, it would refuse for ever.
   */
  private readonly refusedNs: Float64Array;
  /** Models that a GPU chose but found no room for. */
  private readonly givenUp: { readonly gpu: number; readonly model: number }[] = [];

  constructor(
    private readonly cluster: Cluster,
    private readonly demand: DemandTracker,
    private readonly dispatch: Dispatcher,
    private readonly booking: Booking,
    private readonly latestDeltaNs: number,
  ) {
    this.order = new LoadOrder(
      cluster.models.length,
      cluster.gpus,
      demand.holding,
      cluster.recency,
      cluster.bars,
    );
    this.refusedNs = new Float64Array(cluster.gpus).fill(-1);
  }

  /** Records that a LOAD has ended on the GPU, successfully or not. */
  finished({ gpu, model, sentNs }: Action, ok: boolean, nowNs: number): void {
    this.booking.update(gpu, nowNs);
    if (ok) {
      this.cluster.recency.touch(gpu, model);
      this.cluster.recency.insert(gpu, model);
      // Its demand is unchanged, but must be distributed again.
      this.demand.change(model, 0, 0);
      return;
    }
    if (sentNs === nowNs) this.refusedNs[gpu] = nowNs;
    this.order.moved(gpu, model, -1);
    this.demand.moved(model, gpu, -1);
  }

  /** Records weights lost without an UNLOAD. */
  lost(gpu: number, model: number): void {
    this.takeBack();
    this.cluster.recency.remove(gpu, model);
    this.order.moved(gpu, model, -1);
    this.demand.moved(model, gpu, -1);
  }

  /** Records weights present without a LOAD. */
  found(gpu: number, model: number): void {
    this.takeBack();
    this.cluster.recency.touch(gpu, model);
    this.cluster.recency.insert(gpu, model);
    this.order.moved(gpu, model, 1);
    this.demand.moved(model, gpu, 1);
  }

  /** Clears the state of a model that leaves. */
  forget(model: number): void {
    this.order.remove(model);
  }

  /** Drops choices that found no room, so that no demand is assigned to them. */
  takeBack(): void {
    const { givenUp } = this;
    if (givenUp.length === 0) return;
    for (const { gpu, model } of givenUp) {
      this.order.moved(gpu, model, -1);
      this.demand.moved(model, gpu, -1);
    }
    givenUp.length = 0;
  }

  /** True if `takeBack` and `schedule` would do nothing. */
  isQuiet(nowNs: number): boolean {
    const { booking, order, demand, givenUp } = this;
    if (booking.nextOpeningNs <= nowNs || booking.opened || order.grown || givenUp.length > 0) return false;
    return demand.stale.length === 0 || booking.open.count === 0;
  }

  /** Lets each GPU in turn send LOADs until none can; true if any did. */
  schedule(nowNs: number): boolean {
    const { booking, order } = this;
    booking.advance(nowNs);
    this.renewPriorities();
    // If no lane opened and no model is newly wanted, every GPU would refuse as before.
    this.blocked = false;
    if (!booking.opened && !order.grown) return false;
    const { open } = booking;
    let sent = false;
    let refusals = 0;
    let gpu = open.nextCyclic(this.turn);
    // Every open GPU is asked once more after the last success; the turn continues from that success.
    while (gpu >= 0 && refusals < open.count) {
      // The next GPU must see what this one loaded or evicted.
      this.renewPriorities();
      if (order.wanted(gpu) && this.load(gpu, nowNs)) {
        sent = true;
        refusals = 0;
        this.turn = gpu + 1 === this.cluster.gpus ? 0 : gpu + 1;
      } else refusals++;
      gpu = open.nextCyclic(gpu + 1);
    }
    booking.opened = false;
    order.grown = this.blocked;
    return sent;
  }

  /** Applies changes of demand if any GPU could use them now; otherwise they wait until one can. */
  renewPriorities(): void {
    if (this.demand.stale.length === 0 || this.booking.open.count === 0) return;
    const { demand, order } = this;
    const { stale } = demand;
    for (let i = 0; i < stale.length; i++) {
      const model = stale.at(i);
      // What every GPU holds can't be wanted.
      const priority = demand.hasDemand(model) ? demand.loadPriority(model) : Number.NEGATIVE_INFINITY;
      if (priority > Number.NEGATIVE_INFINITY) order.set(model, priority);
      else order.remove(model);
    }
    stale.clear();
  }

  private load(gpu: number, nowNs: number): boolean {
    const model = this.order.best(gpu);
    if (model < 0) return false;
    if (this.refusedNs[gpu] === nowNs) {
      this.blocked = true;
      return false;
    }
    const { cluster, demand } = this;
    const { pages } = cluster.models[model];
    // From here on, it counts as held, for the choice of victims and for the next GPU.
    this.order.moved(gpu, model, 1);
    cluster.recency.touch(gpu, model);
    demand.moveNow(model, gpu, 1);
    while (cluster.pages[gpu].free < pages) {
      this.renewPriorities();
      if (this.evict(gpu, nowNs)) continue;
      // All its models are still loading: worth asking again without new demand.
      this.blocked = true;
      this.givenUp.push({ gpu, model });
      return false;
    }
    const latestNs = cluster.weights[gpu].availableNs(nowNs) + this.latestDeltaNs;
    this.dispatch.load(gpu, model, nowNs, latestNs, nowNs);
    this.booking.update(gpu, nowNs);
    return true;
  }

  /** Evicts one model; false if no model of the GPU may be evicted. */
  private evict(gpu: number, nowNs: number): boolean {
    const { cluster, order, demand } = this;
    const { recency } = cluster;
    const list = recency.list(gpu);
    let slot = list.oldest;
    while (slot >= 0 && demand.hasDemand(list.model(slot))) slot = list.newer(slot);
    // If all have demand, the least recently used is evicted.
    if (slot < 0) slot = list.oldest;
    if (slot < 0) return false;
    const victim = list.model(slot);
    this.dispatch.unload(gpu, victim, nowNs);
    recency.remove(gpu, victim);
    order.moved(gpu, victim, -1);
    demand.moveNow(victim, gpu, -1);
    return true;
  }
}
