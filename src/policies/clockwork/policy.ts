import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import { Booking } from '../../core/booking.js';
import type { Cluster } from '../../core/cluster.js';
import { DemandTracker } from '../../core/demand.js';
import type { ModelSpec } from '../../core/model.js';
import type { Policy, PolicyContext } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { AutoAhead } from './auto-ahead.js';
import { execSlackNs, loadSlackNs } from './deadlines.js';
import { Inferer } from './inferer.js';
import { Loader } from './loader.js';

export interface ClockworkOptions {
  /** Distance into the future for which lanes are booked; null: tuned at run time. */
  readonly scheduleAheadNs: number | null;
  /** Maximum delay of an action after its expected start. */
  readonly latestDeltaNs: number;
  readonly maxBatch: number;
  /** Longest execution time of a usable batch size. */
  readonly maxExecNs: number;
}

/**
 * The scheduler published as Clockwork ("Serving DNNs like Clockwork", Gujarati et al., OSDI 2020), with its constants
 * and quirks, including behavior that one would not expect.
 */
export class ClockworkPolicy implements Policy {
  readonly name = 'clockwork';
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly demand: DemandTracker;
  private readonly loader: Loader;
  private readonly inferer: Inferer;
  private readonly options: ClockworkOptions;
  readonly tuned: Readonly<Record<string, number>>;
  private aheadNs: number;
  private readonly ahead: AutoAhead | null;
  /** Booking of lanes; one shared object where GPUs have one lane. */
  private readonly exec: Booking;
  private readonly weights: Booking;
  /** With one lane: true if LOADs had the last turn, so that INFERs are next. */
  private loadsCameLast = false;
  /** True if the last `schedule` had nothing to do. */
  private foundQuiet = false;

  constructor(context: PolicyContext, options: ClockworkOptions) {
    const { cluster, requests, dispatch } = context;
    const { scheduleAheadNs, latestDeltaNs } = options;
    this.options = options;
    this.cluster = cluster;
    this.requests = requests;
    this.ahead = scheduleAheadNs === null ? new AutoAhead(cluster) : null;
    this.tuned = this.ahead?.tuned ?? {};
    this.aheadNs = scheduleAheadNs ?? this.ahead?.aheadNs ?? 0;
    this.demand = new DemandTracker(
      cluster.gpus,
      cluster.models.length,
      context.defaultSloNs,
      cluster.kinds === 1 ? null : (gpu, model) => cluster.speedOn(gpu, model),
    );
    this.exec = new Booking(cluster.exec, this.aheadNs);
    this.weights = cluster.oneLane ? this.exec : new Booking(cluster.weights, this.aheadNs);
    this.loader = new Loader(cluster, this.demand, dispatch, this.weights, latestDeltaNs);
    this.inferer = new Inferer(
      cluster,
      requests,
      dispatch,
      this.exec,
      latestDeltaNs,
      Int32Array.from(cluster.models, (model) => usableSizes(model, options)),
      (gpu, model, slots, count) => this.inferSent(gpu, model, slots, count),
    );
  }

  offered(slot: number, nowNs: number): void {
    if (this.ahead === null) return;
    const { requests, cluster } = this;
    this.ahead.offered(requests.sloNs[slot], cluster.nominalExecNs(requests.model[slot], 0), nowNs);
  }

  admit(slot: number, nowNs: number): number {
    const { requests, demand } = this;
    const model = requests.model[slot];
    const sloNs = requests.sloNs[slot];
    const slackNs = this.ahead?.slackNs(sloNs) ?? execSlackNs(sloNs, this.aheadNs);
    const dueNs = requests.arrivalNs[slot] + slackNs;
    // The published scheduler never again runs a model that looks too slow.
    this.cluster.forgetMeasurements(model, nowNs, dueNs - nowNs);
    const execNs = this.cluster.nominalExecNs(model, 0);
    const exec = demand.unitsOf(execNs, slackNs);
    const loadWithinNs = loadSlackNs(sloNs, this.aheadNs, this.cluster.loadNs(model), execNs);
    const load = demand.unitsOf(execNs, loadWithinNs);
    requests.execDemand[slot] = exec;
    requests.loadDemand[slot] = load;
    demand.arrived(model, exec, load, loadWithinNs);
    this.inferer.enqueue(slot, model, dueNs, nowNs);
    return dueNs;
  }

  timedOut(slot: number, nowNs: number): void {
    const { requests } = this;
    const model = requests.model[slot];
    if (requests.isCancelled[slot] === 1) this.inferer.queues[model].remove(slot, requests.id[slot]);
    else if (this.ahead?.timedOut(nowNs)) this.setAhead(this.ahead.aheadNs, nowNs);
    this.demand.change(model, -requests.execDemand[slot], -requests.loadDemand[slot]);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    if (action.kind === INFER) {
      let exec = 0;
      for (let i = 0; i < action.count; i++) exec += this.requests.execDemand[action.requests[i]];
      this.demand.change(model, -exec, 0);
      this.cluster.recency.touch(gpu, model);
      this.inferer.finished(gpu, nowNs);
      if (this.ahead?.finished(action, this.requests.sloNs[action.requests[0]], nowNs)) {
        this.setAhead(this.ahead.aheadNs, nowNs);
      }
    } else if (action.kind === LOAD) {
      const ok = action.status === STATUS_OK;
      this.loader.finished(action, ok, nowNs);
      if (ok) this.inferer.activate(gpu, model);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.loader.lost(gpu, model);
  }

  weightsFound(gpu: number, model: number): void {
    this.loader.found(gpu, model);
    this.inferer.activate(gpu, model);
  }

  modelCame(model: number): void {
    this.inferer.came(model, usableSizes(this.cluster.models[model], this.options));
  }

  modelGoes(model: number): void {
    this.inferer.forget(model);
    this.loader.forget(model);
  }

  lanesChanged(gpu: number, nowNs: number): void {
    this.exec.update(gpu, nowNs);
    this.weights.update(gpu, nowNs);
  }

  schedule(nowNs: number): void {
    // Most steps only add to a queue, or are at due times of requests answered long ago.
    this.foundQuiet = this.isQuiet(nowNs);
    if (this.foundQuiet) return;
    this.refresh(nowNs);
    this.foundQuiet = this.isQuiet(nowNs);
    if (!this.foundQuiet) this.send(nowNs);
  }

  private send(nowNs: number): void {
    if (this.cluster.oneLane && this.loadsCameLast) {
      // LOADs would take all of a shared lane as long as models are wanted.
      if (this.inferer.schedule(nowNs)) this.loadsCameLast = false;
    }
    // The published scheduler makes passes until one does nothing. Sending frees no lane and adds no demand, so another
    // pass would only refresh the books, unless an eviction for a LOAD that was then impossible makes room for another.
    do {
      this.refresh(nowNs);
      const loaded = this.loader.schedule(nowNs);
      if (loaded) this.loadsCameLast = true;
      const inferred = this.inferer.schedule(nowNs);
      if (!loaded && !inferred) return;
    } while (this.loader.blocked);
    this.refresh(nowNs);
    this.loader.renewPriorities();
  }

  /** Never, unless `auto`: as in the reference, bookable lanes are only noticed when something else happens. */
  nextWakeNs(): number {
    if (this.ahead === null) return Number.POSITIVE_INFINITY;
    return Math.min(this.exec.nextOpeningNs, this.weights.nextOpeningNs);
  }

  quietUntilNs(nowNs: number): number {
    if (!this.foundQuiet && !this.isQuiet(nowNs)) return nowNs;
    return Math.min(this.exec.nextOpeningNs, this.weights.nextOpeningNs, this.demand.nextReviewNs);
  }

  queued(model: number): number {
    return this.inferer.queues[model].length(0);
  }

  /** True if `schedule` would do nothing. */
  private isQuiet(nowNs: number): boolean {
    return this.inferer.isQuiet(nowNs) && this.demand.isQuiet(nowNs) && this.loader.isQuiet(nowNs);
  }

  private refresh(nowNs: number): void {
    this.loader.takeBack();
    this.demand.refresh(nowNs);
  }

  private setAhead(aheadNs: number, nowNs: number): void {
    this.aheadNs = aheadNs;
    this.exec.setAhead(aheadNs, nowNs);
    if (this.weights !== this.exec) this.weights.setAhead(aheadNs, nowNs);
  }

  private inferSent(gpu: number, model: number, slots: Int32Array, count: number): void {
    let load = 0;
    for (let i = 0; i < count; i++) load += this.requests.loadDemand[slots[i]];
    this.demand.change(model, 0, -load);
    this.cluster.recency.touch(gpu, model);
  }
}

/** Batch sizes up to the configured one whose profiled time is short enough; at least batch 1. */
function usableSizes({ batchSizes, execNs }: ModelSpec, options: ClockworkOptions): number {
  let usable = 1;
  while (
    usable < batchSizes.length &&
    batchSizes[usable] <= options.maxBatch &&
    execNs[usable] <= options.maxExecNs
  )
    usable++;
  return usable;
}
