import { invariant } from '../base/invariant.js';
import { type Action, INFER, LOAD, STATUS_DEVICE_ERROR, STATUS_OK, STATUS_PENDING } from './action.js';
import { Forecast } from './admission.js';
import { ONE_CLASS, type RequestClass } from './classes.js';
import { Cluster } from './cluster.js';
import type { ControllerOptions } from './controller-options.js';
import type { ControllerPort } from './controller-port.js';
import { Digest } from './digest.js';
import { Expiry } from './expiry.js';
import { changeGpu, type GpuChange } from './gpu-change.js';
import type { ModelSpec } from './model.js';
import { ModelSlots } from './model-slots.js';
import type { RunObserver } from './observer.js';
import { Orders } from './orders.js';
import { MOST_PIPELINES, type PipelineSpec, Pipelines } from './pipelines.js';
import { type Policy, REFUSE } from './policy.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_ERROR,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  REQUEST_IN_PIPELINE,
  REQUEST_QUEUED,
  RequestTable,
} from './request.js';
import { type MissedWindow, mayRetry, outcomeOf } from './retry.js';
import { Tenants } from './tenants.js';
import { WindowSlack } from './window-slack.js';

const NOTHING_TUNED: Readonly<Record<string, number>> = {};

/**
 * The central controller as a pure state machine. A driver reports events (`offer`, `cancel`, `result`), then calls
 * `step` with the time; orders and answers leave through the port during that call. It reads no clock and sets no
 * timer: `nextWakeNs` is when it wants the next `step` if nothing happens first.
 */
export class Controller {
  readonly cluster: Cluster;
  readonly requests = new RequestTable();
  /** Number of the first pipeline in `RequestTable.model`: they follow the first slots for models. */
  readonly firstPipeline: number;
  /** Request classes; at least one. */
  readonly classes: readonly RequestClass[];

  private policy: Policy;
  private readonly createPolicy: () => Policy;
  private readonly port: ControllerPort;
  private readonly observer: RunObserver | null;
  private readonly expiry: Expiry;
  private readonly decisions = new Digest();
  private readonly orders: Orders;
  private lastNs = 0;
  /** Inputs since the last step, in order of arrival; arrays never shrink, these counts delimit them. */
  private readonly results: Action[] = [];
  private resultCount = 0;
  private readonly arrived: number[] = [];
  private arrivedCount = 0;
  private readonly cancels: number[] = [];
  private readonly gpuChanges: GpuChange[] = [];
  /** True if cancellations, GPUs, models or more slots were reported since the last step. */
  private hasNews = false;
  /** True if anything was reported since the last `step`. */
  hasInput = false;
  private readonly slots: ModelSlots;
  /** Number of model slots to grow to as soon as no action runs; 0: no change. */
  private growTo = 0;
  /** Null: no admission by prediction. */
  private forecast: Forecast | null;
  /** Null: no tenants. */
  private readonly tenants: Tenants | null;
  /** Null: no pipelines. */
  private pipelines: Pipelines | null = null;
  private readonly missedWindow: MissedWindow;
  private readonly slack: WindowSlack;

  constructor(options: ControllerOptions) {
    this.cluster = new Cluster(options.cluster);
    this.firstPipeline = this.cluster.models.length;
    this.classes = options.classes ?? ONE_CLASS;
    this.port = options.port;
    this.observer = options.observer ?? null;
    this.slots = new ModelSlots(this.cluster);
    this.expiry = new Expiry(
      this.requests,
      (model) => this.cluster.isStranded(model),
      (slot, nowNs) => this.giveUp(slot, OUTCOME_TIMEOUT, nowNs),
    );
    this.slack = new WindowSlack(this.cluster.gpus);
    this.orders = new Orders(this.cluster, this.requests, this.decisions, options, this.slack);
    this.createPolicy = () =>
      options.createPolicy({
        cluster: this.cluster,
        requests: this.requests,
        dispatch: this.orders,
        defaultSloNs: options.defaultSloNs,
        classes: this.classes,
        hasShares: (options.tenants?.length ?? 0) > 1,
      });
    this.policy = this.createPolicy();
    this.forecast =
      options.admission === 'predict' ? new Forecast(this.cluster, this.requests, this.policy) : null;
    this.tenants = Tenants.open(options.tenants, this.cluster, this.requests, this.policy.sharesFirst);
    const { pipelines = [] } = options;
    if (pipelines.length > 0) this.pipelines = this.openPipelines(pipelines);
    this.missedWindow = options.missedWindow ?? (this.policy.takesBack === true ? 'retry' : 'fail');
  }

  /** Running hash of all decisions so far, 16 hex digits. */
  get digest(): string {
    return this.decisions.toString();
  }

  /** Current values, by name, of parameters that the policy tunes itself. */
  get tuned(): Readonly<Record<string, number>> {
    return this.policy.tuned ?? NOTHING_TUNED;
  }

  /**
   * Reports an arrived request, to be handled in the next `step`. `length`: that of its input, at most the model's
   * longest. Returns its slot.
   */
  offer(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass = 0,
    tenant = 0,
    length = 0,
  ): number {
    this.slots.arrived(model, sloNs);
    const bucket = this.cluster.rows.bucketOf(model, length);
    const slot = this.requests.allocate(model, arrivalNs, sloNs, user, requestClass, tenant, length, bucket);
    this.arrived[this.arrivedCount++] = slot;
    this.hasInput = true;
    return slot;
  }

  /**
   * Reports an arrived request of a pipeline, the `pipeline`th of the options, with the number of requests of each
   * step: 0 skips it. Returns its slot.
   */
  offerPipeline(
    pipeline: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass: number,
    tenant: number,
    counts: Int32Array,
  ): number {
    const model = this.firstPipeline + pipeline;
    const slot = this.requests.allocate(model, arrivalNs, sloNs, user, requestClass, tenant);
    this.pipelines?.arrived(slot, counts);
    this.arrived[this.arrivedCount++] = slot;
    this.hasInput = true;
    return slot;
  }

  /**
   * Reports that the client of an unanswered request has gone. If the request still waits in the next `step`, it is
   * withdrawn; one in an action stays there and is not retried.
   */
  cancel(slot: number): void {
    this.requests.isCancelled[slot] = 1;
    this.cancels.push(slot);
    this.noteNews();
  }

  /** Reports a worker's answer: `status`, `beginNs`, `endNs` and `clock` of the action are filled in. */
  result(action: Action): void {
    invariant(action.status !== STATUS_PENDING, 'a result has a status');
    this.results[this.resultCount++] = action;
    this.hasInput = true;
  }

  /**
   * Reports that the GPU is gone, with its weights. Every action sent to it must have a result; `STATUS_WORKER_LOST`
   * allows a retry elsewhere.
   */
  gpuDown(gpu: number): void {
    this.changeGpu({ gpu, present: null, kind: 0 });
  }

  /** Stops sending actions to the GPU from the next `step` on. It can leave once those outstanding have results. */
  gpuDrains(gpu: number): void {
    this.changeGpu({ gpu, present: 'drains', kind: 0 });
  }

  /**
   * Reports that the GPU is in service, idle, and holds these models: at the start, or after `gpuDown`, possibly as
   * another kind.
   */
  gpuUp(gpu: number, present: readonly number[], kind = this.cluster.kindOf[gpu]): void {
    this.changeGpu({ gpu, present, kind });
  }

  /**
   * Adds empty model slots, up to this number, as soon as no action runs: until then none is sent. The policy is
   * created again. The port's `grew` reports it. Throws `E_CONFIG_VALUE` for more than fit.
   */
  grow(slots: number): void {
    this.cluster.checkSlots(slots);
    this.growTo = slots;
    this.noteNews();
  }

  /**
   * Adds a model in the next `step`, in an empty slot such as `emptySlot`. Requests for it may be offered at once.
   * Throws `E_PROFILE` or `E_MODEL_TOO_LARGE` for a model that the cluster can't have.
   */
  putModel(model: number, spec: ModelSpec): void {
    this.slots.put(model, spec);
    this.noteNews();
  }

  /**
   * Reports the GPUs whose workers do not have the model, in place of an earlier report: it is not loaded there. A new
   * model is on all workers.
   */
  setAbsent(model: number, gpus: readonly number[]): void {
    this.slots.setAbsent(model, gpus);
    this.noteNews();
  }

  /**
   * Stops taking requests for the model. Those already offered are served; then its weights are unloaded everywhere,
   * and the port's `modelGone` reports the empty slot.
   */
  retireModel(model: number): void {
    this.slots.retire(model);
    this.noteNews();
  }

  /** True if requests for the model may be offered. */
  isServing(model: number): boolean {
    return this.slots.isServing(model);
  }

  /**
   * Adds a pipeline, the `index`th, or replaces it: the requests of its predecessor go on as they began. Its models are
   * those in these slots now; with one of them it retires. Returns the number of its first step in `RequestTable.step`.
   */
  putPipeline(index: number, spec: PipelineSpec): number {
    this.pipelines ??= this.openPipelines([]);
    return this.pipelines.put(index, spec);
  }

  /** True if no model ever has this number, but a pipeline may. */
  isPipeline(model: number): boolean {
    return model >= this.firstPipeline && model < this.firstPipeline + MOST_PIPELINES;
  }

  /** Name of a model, or of a pipeline, by its number in `RequestTable.model`. */
  nameOf(model: number): string {
    return this.pipelines?.nameOf(model - this.firstPipeline) ?? this.cluster.models[model].name;
  }

  /** True if requests for the pipeline may be offered. */
  isServingPipeline(index: number): boolean {
    return this.pipelines?.isServing(index) === true;
  }

  /**
   * Reports, before the result of the INFER of a step's request in `slot`, how many requests a later step has because
   * of its outputs. If they are more than `MOST_FAN_OUT`, or negative, the request fails.
   */
  setCount(slot: number, step: number, count: number): void {
    this.pipelines?.setCount(slot, step, count);
  }

  /** First empty model slot, or −1. */
  get emptySlot(): number {
    return this.slots.firstEmpty;
  }

  /** Processes all reported events, then decides until there is nothing left to decide. */
  step(nowNs: number): void {
    invariant(nowNs >= this.lastNs, 'time does not run backwards');
    this.lastNs = nowNs;
    this.cluster.bars.advance(nowNs);
    for (let i = 0; i < this.resultCount; i++) this.handleResult(this.results[i], nowNs);
    this.resultCount = 0;
    if (this.growTo > 0 && this.orders.isIdle) this.growNow(nowNs);
    if (this.hasNews) this.takeNews(nowNs);
    for (let i = 0; i < this.arrivedCount; i++) {
      this.admit(this.arrived[i], nowNs);
      this.expiry.advance(nowNs);
    }
    this.arrivedCount = 0;
    this.hasInput = this.hasNews;
    this.expiry.advance(nowNs);
    if (this.slots.retiring > 0) this.clearSlots(nowNs);
    if (this.growTo === 0) this.policy.schedule(nowNs);
    // Done within the step, so that a replay, which asks for no wake-ups, forgets the same.
    if (this.policy.quietUntilNs === undefined) this.expiry.dropAnswered(Number.POSITIVE_INFINITY);
  }

  /**
   * Time of the next `step` if nothing arrives first; Infinity: not needed. `undisturbedNs`: time before which the
   * driver has nothing to report, so that wake-ups which would find nothing to do can be left out.
   */
  nextWakeNs(nowNs: number, undisturbedNs = nowNs): number {
    const { policy, expiry, cluster } = this;
    const policyNs = this.growTo === 0 ? policy.nextWakeNs(nowNs) : Number.POSITIVE_INFINITY;
    if (expiry.nextNs < undisturbedNs && policy.quietUntilNs !== undefined)
      expiry.dropAnswered(Math.min(undisturbedNs, policyNs, policy.quietUntilNs(nowNs)));
    return Math.min(expiry.nextNs, cluster.bars.nextEndNs, policyNs);
  }

  private noteNews(): void {
    this.hasNews = true;
    this.hasInput = true;
  }

  private takeNews(nowNs: number): void {
    if (this.slots.bring(this.policy, this.decisions, nowNs)) this.modelsMoved(nowNs);
    if (this.gpuChanges.length > 0) this.changeGpus(nowNs);
    this.withdrawCancelled(nowNs);
    this.hasNews = false;
  }

  private changeGpu(change: GpuChange): void {
    this.gpuChanges.push(change);
    this.noteNews();
  }

  /** Adds the slots, and creates a new policy, as if all GPUs had just joined with their weights. */
  private growNow(nowNs: number): void {
    const { cluster, requests } = this;
    cluster.grow(this.growTo);
    this.orders.grow();
    this.decisions.add(this.growTo);
    this.growTo = 0;
    this.policy = this.createPolicy();
    this.slots.grow(this.policy, nowNs);
    if (this.forecast !== null) this.forecast = new Forecast(cluster, requests, this.policy);
    for (let model = 0; model < cluster.models.length; model++)
      for (let gpu = cluster.warm.next(model, 0); gpu >= 0; gpu = cluster.warm.next(model, gpu + 1))
        this.policy.weightsFound(gpu, model, nowNs);
    for (let gpu = 0; gpu < cluster.gpus; gpu++) this.policy.lanesChanged(gpu, nowNs);
    const waiting: number[] = [];
    requests.forWaiting(-1, (slot) => waiting.push(slot));
    for (const slot of waiting.sort((a, b) => requests.id[a] - requests.id[b])) this.queue(slot, nowNs);
    this.port.grew?.(cluster.models.length, nowNs);
  }

  private openPipelines(specs: readonly PipelineSpec[]): Pipelines {
    const { cluster, requests, slots, port } = this;
    return new Pipelines(specs, this.firstPipeline, {
      ...{ cluster, requests, predicts: this.forecast !== null },
      isServing: (model) => slots.isServing(model),
      tenancy: (model) => slots.tenancy(model),
      queued: (model) => this.policy.queued(model),
      offer: (...request) => this.offer(...request),
      cancel: (slot) => this.cancel(slot),
      begun: (...step) => port.stepBegun?.(...step),
      ended: (slot, outcome, nowNs) => this.pipelineEnded(slot, outcome, nowNs),
    });
  }

  private admit(slot: number, nowNs: number): void {
    if (this.pipelines !== null && this.requests.state[slot] === REQUEST_IN_PIPELINE) {
      this.pipelines.begin(slot, nowNs);
      return;
    }
    const model = this.requests.model[slot];
    this.requests.arrivalCopies[slot] = this.cluster.warm.count(model);
    if (this.requests.isCancelled[slot] === 1) {
      this.answer(slot, OUTCOME_CANCELLED, nowNs, null);
      return;
    }
    const isAdmitted = this.tenants?.admits(slot, nowNs) !== false;
    if (isAdmitted) this.policy.offered?.(slot, nowNs);
    if (!isAdmitted || this.forecast?.isInTime(slot, nowNs) === false)
      this.answer(slot, OUTCOME_REJECTED, nowNs, null);
    else this.queue(slot, nowNs);
  }

  private clearSlots(nowNs: number): void {
    const { slots, policy, orders, decisions, port } = this;
    slots.clear(policy, orders, decisions, nowNs, (model) => port.modelGone?.(model, nowNs));
  }

  private queue(slot: number, nowNs: number): void {
    const broken = this.cluster.cannotLoad(this.requests.model[slot]);
    const dueNs = broken ? REFUSE : this.policy.admit(slot, nowNs);
    if (dueNs === REFUSE) this.answer(slot, broken ? OUTCOME_ERROR : OUTCOME_REJECTED, nowNs, null);
    else {
      this.requests.dueNs[slot] = dueNs;
      this.expiry.add(slot);
    }
  }

  private changeGpus(nowNs: number): void {
    for (const change of this.gpuChanges) {
      this.decisions.add(change.gpu);
      changeGpu(this.cluster, this.policy, change, nowNs);
    }
    this.gpuChanges.length = 0;
    this.expiry.fleetChanged();
  }

  /** Lets the policy examine all GPUs again, as some may take other models than before. */
  private modelsMoved(nowNs: number): void {
    const { up } = this.cluster;
    for (let gpu = up.next(0); gpu >= 0; gpu = up.next(gpu + 1)) this.policy.lanesChanged(gpu, nowNs);
    this.expiry.fleetChanged();
  }

  /** Withdraws cancelled requests. Those that have just arrived never reach the policy. */
  private withdrawCancelled(nowNs: number): void {
    const { state, dueNs, isCancelled } = this.requests;
    // Another request has taken the slot.
    for (const slot of this.cancels)
      if (isCancelled[slot] === 0) continue;
      else if (state[slot] === REQUEST_IN_PIPELINE) this.pipelines?.withdraw(slot, nowNs);
      else if (state[slot] === REQUEST_QUEUED && dueNs[slot] !== 0)
        this.giveUp(slot, OUTCOME_CANCELLED, nowNs);
    this.cancels.length = 0;
  }

  /** Ends a waiting request without serving it. */
  private giveUp(slot: number, outcome: Outcome, nowNs: number): void {
    this.policy.timedOut(slot, nowNs);
    this.answer(slot, outcome, nowNs, null);
  }

  private handleResult(action: Action, nowNs: number): void {
    const { cluster } = this;
    const { gpu, model, status } = action;
    const ok = status === STATUS_OK;
    if (action.kind === INFER) {
      cluster.lanes.endExec(gpu, action.id, action.endNs);
      cluster.countRunning(gpu, model, -1);
      if (ok) cluster.measuredExec(action);
      if (ok) this.pipelines?.executed(model, action.endNs - action.beginNs, action.count);
    } else if (action.kind === LOAD) {
      cluster.lanes.endWeights(gpu, action.id, action.endNs);
      if (ok) {
        cluster.measuredLoad(action);
        cluster.warm.add(model, gpu);
        cluster.bars.forget(model, gpu);
      } else {
        cluster.held.delete(model, gpu);
        cluster.pages[gpu].release(cluster.models[model].pages);
        if (status === STATUS_DEVICE_ERROR) cluster.bars.failed(model, gpu, nowNs);
      }
    }
    this.tenants?.ended(action);
    if (this.missedWindow === 'retry') this.slack.ended(action);
    this.policy.finished(action, nowNs);
    if (status === STATUS_DEVICE_ERROR && this.cluster.cannotLoad(model)) this.failWaiting(model, nowNs);
    this.observer?.completed(action, nowNs, this.policy.queued(model), cluster.warm.count(model));
    if (action.kind === INFER) this.answerBatch(action, nowNs);
    else this.expiry.modelLost(model);
    this.orders.recycle(action);
  }

  /** Fails all requests that wait for a model that no device could load. */
  private failWaiting(model: number, nowNs: number): void {
    this.requests.forWaiting(model, (slot) => this.giveUp(slot, OUTCOME_ERROR, nowNs));
  }

  private answerBatch(action: Action, nowNs: number): void {
    const { requests } = this;
    // An INFER refused the instant it was sent would be sent and refused without end, except by policies that handle
    // this.
    const isAtOnce = action.sentNs === nowNs && this.policy.takesBack !== true;
    const missedWindow = isAtOnce ? 'fail' : this.missedWindow;
    for (let i = 0; i < action.count; i++) {
      const slot = action.requests[i];
      if (action.status !== STATUS_OK) {
        requests.failedInfer[slot] = action.id;
        requests.failedStatus[slot] = action.status;
      }
      const inTime = nowNs <= requests.arrivalNs[slot] + requests.sloNs[slot];
      if (inTime && mayRetry(action.status, missedWindow)) {
        if (requests.isCancelled[slot] === 1) {
          this.answer(slot, OUTCOME_CANCELLED, nowNs, null);
          continue;
        }
        requests.state[slot] = REQUEST_QUEUED;
        this.queue(slot, nowNs);
        continue;
      }
      const outcome = outcomeOf(action.status, inTime, missedWindow);
      this.answer(slot, outcome, nowNs, outcome === OUTCOME_TIMEOUT ? null : action);
    }
  }

  private answer(slot: number, outcome: Outcome, nowNs: number, action: Action | null): void {
    const { requests } = this;
    const model = requests.model[slot];
    this.report(slot, outcome, nowNs, this.cluster.warm.count(model), action);
    if (this.pipelines?.answered(slot, outcome, nowNs) !== true)
      this.port.answer(slot, outcome, nowNs, action);
    this.tenants?.answered(slot, outcome);
    this.slots.answered(model);
    requests.release(slot);
  }

  /** Answers the request of a pipeline. */
  private pipelineEnded(slot: number, outcome: Outcome, nowNs: number): void {
    this.report(slot, outcome, nowNs, this.pipelines?.copies(slot) ?? 0, null);
    this.port.answer(slot, outcome, nowNs, null);
    this.requests.release(slot);
  }

  private report(slot: number, outcome: Outcome, nowNs: number, copies: number, action: Action | null): void {
    const { requests } = this;
    this.decisions.add(requests.id[slot]);
    this.decisions.add(outcome);
    if (outcome === OUTCOME_CANCELLED) this.observer?.cancelled?.(requests, slot, nowNs, copies);
    else this.observer?.answered(requests, slot, outcome, nowNs, copies, action);
  }
}
