import { type Action, INFER, LOAD, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import { type Dispatcher, InferDraft, type Policy, type PolicyContext, REFUSE } from '../../core/policy.js';
import type { RequestTable } from '../../core/request.js';
import { CompletedInfer, SelfTuning } from '../common/self-tuning.js';
import { Chooser } from './chooser.js';
import { ClassWeights } from './class-weights.js';
import { CopyWorth } from './copy-worth.js';
import { DemandForecast } from './demand-forecast.js';
import { Durations } from './durations.js';
import { Fairness } from './fairness.js';
import { LaneForecast } from './lane-forecast.js';
import { OpenLanes } from './open-lanes.js';
import { Overdue } from './overdue.js';
import { Placement } from './placement.js';
import { SharedClasses } from './shared-classes.js';
import { Waiting } from './waiting.js';

interface EscapementOptions {
  /** Distance into the future for which lanes are booked; null: tuned at run time. */
  readonly scheduleAheadNs: number | null;
  readonly maxBatch: number;
  /** Share of the overall attainment below which no model should fall; 0: only goodput counts. */
  readonly fairness: number;
}

/**
 * This project's own scheduler. A lane that may be booked gets the batch with the highest slack-discounted density
 * (`Chooser`); models are placed by the value of their copies (`Placement`); requests that can't be served are refused
 * at once, and those that missed their window are retried; booking distance and margin are measured (`SelfTuning`).
 * Optionally, no model falls far behind the others (`Fairness`).
 */
export class EscapementPolicy implements Policy {
  readonly name = 'escapement';
  readonly takesBack = true;
  readonly sharesFirst = true;
  readonly tuned: Readonly<Record<string, number>>;
  private readonly cluster: Cluster;
  private readonly requests: RequestTable;
  private readonly dispatch: Dispatcher;
  private readonly durations: Durations;
  private readonly weights: ClassWeights;
  private readonly waiting: Waiting;
  private readonly fairness: Fairness;
  private readonly chooser: Chooser;
  private readonly copyWorth: CopyWorth;
  private readonly placement: Placement;
  private readonly tuning: SelfTuning;
  private readonly forecasts: readonly LaneForecast[];
  private readonly lanes: OpenLanes;
  private readonly order: InferDraft;
  private readonly classes: SharedClasses;
  private readonly completed = new CompletedInfer();

  constructor(context: PolicyContext, options: EscapementOptions) {
    const { cluster } = context;
    this.cluster = cluster;
    this.requests = context.requests;
    this.dispatch = context.dispatch;
    this.durations = new Durations(cluster, options.maxBatch);
    this.classes = new SharedClasses(context);
    this.weights = new ClassWeights(this.classes.list, this.classes.first);
    this.waiting = new Waiting(cluster, this.durations, this.weights);
    this.fairness = new Fairness(cluster.models.length, options.fairness, this.weights.count);
    this.chooser = new Chooser(cluster, this.requests, this.durations, this.waiting, this.fairness.favor);
    const demand = new DemandForecast(cluster.models.length);
    this.copyWorth = new CopyWorth(cluster, this.durations, this.waiting, demand, this.fairness.factor);
    this.placement = new Placement(
      cluster,
      context.dispatch,
      this.waiting,
      this.copyWorth,
      new Overdue(cluster, this.requests, this.durations, this.waiting),
      (gpu, model, id, nowNs) => this.loadSent(gpu, model, id, nowNs),
    );
    this.tuning = new SelfTuning(0, options.scheduleAheadNs ?? 0, options.scheduleAheadNs === null);
    this.tuned = this.tuning.tuned;
    this.forecasts = Array.from({ length: cluster.gpus }, () => new LaneForecast());
    this.lanes = new OpenLanes(cluster, this.forecasts, this.tuning.tuned);
    this.order = new InferDraft(new Int32Array(cluster.maxBatch));
  }

  offered(slot: number, nowNs: number): void {
    const { requests } = this;
    const shortestNs = this.durations.shortestNs(requests.model[slot], this.bucketOf(slot));
    this.tuning.offered(requests.sloNs[slot], shortestNs, nowNs);
  }

  admit(slot: number, nowNs: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const requestClass = this.classes.of(slot);
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot];
    const bucket = this.bucketOf(slot);
    const sloNs = requests.sloNs[slot];
    let latestNs = this.latestNs(model, bucket, deadlineNs);
    if (requests.dueNs[slot] === 0) {
      const shortestNs = this.durations.shortestNs(model, bucket);
      const waits = this.cluster.loadNs(model) + shortestNs <= sloNs;
      this.copyWorth.arrived(model, nowNs, this.weights.declared(requestClass), waits);
      // If the model can't be served within such an SLO at all, neither measurements nor fairness apply.
      const isServable = sloNs > shortestNs;
      if (this.isHopeless(model, latestNs, nowNs)) {
        const forgot = isServable && this.forgets(nowNs);
        latestNs = this.latestNs(model, bucket, deadlineNs);
        if (!forgot || this.isHopeless(model, latestNs, nowNs)) {
          if (isServable) this.fairness.answered(model, false, requestClass);
          return REFUSE;
        }
      }
    }
    this.waiting.push(slot, model, deadlineNs, sloNs, requestClass, bucket, requests.length[slot]);
    this.lanes.lookWhere(this.cluster.warm, model);
    this.placement.want(model);
    // First instant at which it is too late.
    return Math.floor(latestNs) + 1;
  }

  timedOut(slot: number, nowNs: number): void {
    const model = this.requests.model[slot];
    const requestClass = this.classes.of(slot);
    this.waiting.remove(slot, model, requestClass, this.bucketOf(slot), this.requests.length[slot]);
    if (this.requests.isCancelled[slot] === 1) return;
    this.fairness.answered(model, false, requestClass);
    this.forgets(nowNs);
  }

  finished(action: Action, nowNs: number): void {
    const { gpu, model } = action;
    const ok = action.status === STATUS_OK;
    if (action.kind === INFER) {
      const forecast = this.forecasts[gpu];
      const { lastEndNs } = forecast;
      const wasFirst = forecast.finish(action.id, action.endNs, this.tuning.deliveryNs);
      if (wasFirst && ok) this.learn(action, lastEndNs, nowNs);
      this.placement.inferEnded(action);
      for (let i = 0; i < action.count; i++) {
        const slot = action.requests[i];
        const deadlineNs = this.requests.arrivalNs[slot] + this.requests.sloNs[slot];
        if (ok) this.fairness.answered(model, nowNs <= deadlineNs, this.classes.of(slot));
      }
      this.lanes.update(gpu, nowNs);
      if (!ok && action.sentNs === nowNs) this.lanes.rest(gpu, nowNs);
    } else if (action.kind === LOAD) {
      if (this.cluster.oneLane) {
        this.forecasts[gpu].finish(action.id, action.endNs, this.tuning.deliveryNs);
        this.lanes.update(gpu, nowNs);
      }
      if (ok) this.waiting.warmed(gpu, model);
      this.placement.loadEnded(gpu, model, ok);
      this.lanes.look(gpu);
    }
  }

  weightsLost(gpu: number, model: number): void {
    this.waiting.cooled(gpu, model);
    this.placement.lost(model);
  }

  weightsFound(gpu: number, model: number): void {
    this.waiting.warmed(gpu, model);
    this.placement.found(model);
    this.lanes.look(gpu);
  }

  modelCame(model: number, nowNs: number): void {
    this.durations.came(model);
    this.waiting.came(model);
    this.copyWorth.came(model, nowNs);
    this.chooser.modelsChanged();
  }

  modelGoes(model: number): void {
    this.fairness.forget(model);
    this.waiting.forget(model);
    this.placement.forget(model);
  }

  lanesChanged(gpu: number, nowNs: number): void {
    this.lanes.update(gpu, nowNs);
    this.placement.urge();
  }

  schedule(nowNs: number): void {
    const { lanes } = this;
    // Comes first, because a LOAD on a single-lane GPU closes the lane.
    this.placement.schedule(nowNs);
    for (let left = lanes.advance(nowNs); left > 0; left--) {
      const gpu = lanes.next();
      while (lanes.isOpen(gpu) && this.serve(gpu, nowNs));
    }
  }

  nextWakeNs(): number {
    return Math.min(this.lanes.nextOpeningNs, this.placement.nextLookNs);
  }

  queued(model: number): number {
    return this.waiting.count[model];
  }

  queuedBefore(slot: number): number {
    const { requests } = this;
    const model = requests.model[slot];
    const deadlineNs = requests.arrivalNs[slot] + requests.sloNs[slot];
    const bucket = this.bucketOf(slot);
    return this.waiting.countBefore(model, this.classes.of(slot), deadlineNs, bucket, requests.length[slot]);
  }

  /** Bucket of the request's input if the policy knows lengths. */
  private bucketOf(slot: number): number {
    return this.cluster.rows.known(this.requests.model[slot], this.requests.bucket[slot]);
  }

  /** Latest start at which a request can be in time. */
  private latestNs(model: number, bucket: number, deadlineNs: number): number {
    return deadlineNs - this.durations.shortestNs(model, bucket) - this.tuning.leastResultNs;
  }

  /**
   * True if no lane with the model will be free by `latestNs`, or, without any, the model can't be loaded by then.
   */
  private isHopeless(model: number, latestNs: number, nowNs: number): boolean {
    const { held, warm } = this.cluster;
    const { leastDeliveryNs, leastResultNs, resultNs } = this.tuning;
    const soonestNs = nowNs + leastDeliveryNs;
    if (latestNs < soonestNs) return true;
    if (held.count(model) === 0)
      return latestNs < soonestNs + this.cluster.loadNs(model) + leastResultNs + leastDeliveryNs;
    for (let gpu = held.next(model, 0); gpu >= 0; gpu = held.next(model, gpu + 1)) {
      if (!warm.has(model, gpu)) return false;
      if (this.forecasts[gpu].freeNs(nowNs, resultNs) <= latestNs) return false;
    }
    return true;
  }

  /** Forgets measurements by which a request is given up, unless some are recent; true if it did. */
  private forgets(nowNs: number): boolean {
    if (!this.tuning.givenUp(nowNs)) return false;
    this.durations.forget();
    this.lanes.updateAll(nowNs);
    return true;
  }

  /** Sends the GPU the best batch; false if there is none. */
  private serve(gpu: number, nowNs: number): boolean {
    if (!this.waiting.isAny(gpu)) return false;
    const { tuning, chooser, durations, order } = this;
    const forecast = this.forecasts[gpu];
    const { resultNs } = tuning;
    const freeNs = forecast.freeNs(nowNs, resultNs);
    // It is unknown when an overdue action will free the lane.
    const { scheduleAheadNs } = tuning.tuned;
    if (forecast.length > 0 && nowNs - resultNs > forecast.headEndNs + scheduleAheadNs) return false;
    if (!this.choose(gpu, freeNs, nowNs)) return false;
    const startNs = Math.max(freeNs, nowNs + tuning.deliveryNs);
    const { model, batchIndex } = chooser;
    const durationNs = durations.on(gpu, durations.rowOf(model, chooser.bucket) + batchIndex);
    const firstNs = chooser.take(order.slots, durationNs);
    const { count } = chooser;
    const latestNs = Math.floor(Math.max(startNs, firstNs - durationNs - tuning.leastResultNs));
    order.gpu = gpu;
    order.model = model;
    order.batchIndex = batchIndex;
    order.count = count;
    order.earliestNs = nowNs;
    order.latestNs = latestNs;
    order.nowNs = nowNs;
    const id = this.dispatch.infer(order);
    forecast.add(id, durationNs, nowNs, startNs, startNs + durationNs + resultNs);
    this.placement.inferSent(gpu);
    this.lanes.sent(gpu, nowNs);
    return true;
  }

  /**
   * Chooses a batch that can be answered in time: with the margin, else without, else if messages are as fast as the
   * fastest recent ones.
   */
  private choose(gpu: number, freeNs: number, nowNs: number): boolean {
    const { chooser } = this;
    const { deliveryNs, resultNs, leastDeliveryNs, leastResultNs, tuned } = this.tuning;
    const startNs = Math.max(freeNs, nowNs + deliveryNs);
    if (chooser.choose(gpu, startNs, resultNs + tuned.marginNs)) return true;
    if (tuned.marginNs > 0 && chooser.choose(gpu, startNs, resultNs)) return true;
    const leastStartNs = Math.max(freeNs, nowNs + leastDeliveryNs);
    const isSooner = leastStartNs + leastResultNs < startNs + resultNs;
    return isSooner && chooser.choose(gpu, leastStartNs, leastResultNs);
  }

  /** Books a LOAD on the EXEC lane where GPUs have one lane. */
  private loadSent(gpu: number, model: number, id: number, nowNs: number): void {
    if (!this.cluster.oneLane) return;
    const { deliveryNs, resultNs } = this.tuning;
    const forecast = this.forecasts[gpu];
    const loadNs = this.cluster.loadNs(model);
    const startNs = Math.max(forecast.freeNs(nowNs, resultNs), nowNs + deliveryNs);
    forecast.add(id, loadNs, nowNs, startNs, startNs + loadNs + resultNs);
    this.lanes.update(gpu, nowNs);
  }

  private learn(action: Action, freeNs: number, nowNs: number): void {
    const { completed, requests } = this;
    const plan = this.forecasts[action.gpu].ended;
    const { beginNs, endNs } = action;
    const bucket = this.cluster.rows.known(action.model, action.bucket);
    this.durations.measured(
      action.gpu,
      action.model,
      action.batchIndex,
      endNs - beginNs,
      action.clock,
      bucket,
    );
    completed.wasBusy = plan.wasBusy;
    completed.decidedNs = plan.decidedNs;
    completed.predictedFreeNs = plan.freeNs;
    completed.freeNs = freeNs;
    completed.beginNs = beginNs;
    completed.endNs = endNs;
    completed.predictedAnswerNs = plan.answerNs;
    completed.sloNs = requests.sloNs[action.requests[0]];
    const { tuned } = this.tuning;
    const beforeNs = tuned.scheduleAheadNs;
    if (!this.tuning.measured(completed, nowNs) || tuned.scheduleAheadNs === beforeNs) return;
    this.lanes.updateAll(nowNs);
  }
}
