import { invariant } from '../base/invariant.js';
import { type Action, INFER, LOAD, STATUS_DEVICE_ERROR, STATUS_OK, STATUS_PENDING } from './action.js';
import { Cluster, type ClusterSpec } from './cluster.js';
import type { ControllerPort } from './controller-port.js';
import { Digest } from './digest.js';
import { DueQueue } from './due-queue.js';
import { type GpuChange, gpuCame, gpuWent } from './gpu-change.js';
import type { RunObserver } from './observer.js';
import { Orders } from './orders.js';
import { type Policy, type PolicyContext, REFUSE } from './policy.js';
import { predictLatencyNs } from './prediction.js';
import {
  OUTCOME_ERROR,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  REQUEST_QUEUED,
  RequestTable,
} from './request.js';
import { type MissedWindow, mayRetry, outcomeOf } from './retry.js';
import { WindowSlack } from './window-slack.js';

export interface ControllerOptions {
  readonly cluster: ClusterSpec;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly port: ControllerPort;
  readonly observer?: RunObserver;
  /** `predict`: what `predictLatencyNs` says can't be in time is refused on arrival, whatever the policy. Default: none. */
  readonly admission?: Admission;
  /**
   * `retry`: requests of an INFER that missed its window are queued again while they have time, and windows get longer
   * by what was missed; `fail`: they are answered `error`. Default: as the policy does it, `Policy.takesBack`.
   */
  readonly missedWindow?: MissedWindow;
}

const NEVER = Number.POSITIVE_INFINITY;
const NOTHING_TUNED: Readonly<Record<string, number>> = {};

export const ADMISSIONS = ['none', 'predict'] as const;
export type Admission = (typeof ADMISSIONS)[number];

/**
 * The central controller as a pure state machine. A driver tells it what happened (`offer`, `result`),
 * then calls `step` with the time; orders and answers leave through the port during that call. It reads no
 * clock and sets no timer: `nextWakeNs` says when it wants the next `step` if nothing happens before.
 */
export class Controller {
  readonly cluster: Cluster;
  readonly requests = new RequestTable();

  private readonly policy: Policy;
  private readonly port: ControllerPort;
  private readonly observer: RunObserver | null;
  private readonly timeouts = new DueQueue();
  private readonly decisions = new Digest();
  private readonly orders: Orders;
  private lastNs = 0;
  /** Inputs since the last step, in the order they came; the arrays keep their length, these count. */
  private readonly results: Action[] = [];
  private resultCount = 0;
  private readonly arrived: number[] = [];
  private arrivedCount = 0;
  private readonly gpuChanges: GpuChange[] = [];
  private readonly predicts: boolean;
  private readonly missedWindow: MissedWindow;
  private readonly slack: WindowSlack;
  /** No GPU is there. */
  private stranded = false;

  constructor(options: ControllerOptions) {
    this.cluster = new Cluster(options.cluster);
    this.port = options.port;
    this.observer = options.observer ?? null;
    this.predicts = options.admission === 'predict';
    this.slack = new WindowSlack(this.cluster.gpus);
    this.orders = new Orders(this.cluster, this.requests, this.decisions, this.port, this.slack);
    this.policy = options.createPolicy({
      cluster: this.cluster,
      requests: this.requests,
      dispatch: this.orders,
      defaultSloNs: options.defaultSloNs,
    });
    this.missedWindow = options.missedWindow ?? (this.policy.takesBack === true ? 'retry' : 'fail');
  }

  /** Running hash of all decisions so far, 16 hex digits. */
  get digest(): string {
    return this.decisions.toString();
  }

  /** What the policy tunes by itself: present values by name. */
  get tuned(): Readonly<Record<string, number>> {
    return this.policy.tuned ?? NOTHING_TUNED;
  }

  /** A request has arrived. It is looked at in the next `step`. Returns its slot. */
  offer(model: number, arrivalNs: number, sloNs: number, user: number): number {
    const slot = this.requests.allocate(model, arrivalNs, sloNs, user);
    this.arrived[this.arrivedCount++] = slot;
    return slot;
  }

  /** A worker has answered: `status`, `beginNs`, `endNs` and `clock` of the action are filled in. */
  result(action: Action): void {
    invariant(action.status !== STATUS_PENDING, 'a result has a status');
    this.results[this.resultCount++] = action;
  }

  /**
   * The GPU is gone, with its weights. Each action that it was sent must have been given a result before; those that
   * ended with `STATUS_WORKER_LOST` get another chance elsewhere.
   */
  gpuDown(gpu: number): void {
    this.gpuChanges.push({ gpu, present: null });
  }

  /** The GPU is there, idle, and holds these models: after `gpuDown`, or with weights of former times at the start. */
  gpuUp(gpu: number, present: readonly number[]): void {
    this.gpuChanges.push({ gpu, present });
  }

  /** True if anything was reported since the last `step`. */
  get hasInput(): boolean {
    return this.resultCount > 0 || this.arrivedCount > 0 || this.gpuChanges.length > 0;
  }

  /** Takes in everything that happened, then decides until there is nothing left to decide. */
  step(nowNs: number): void {
    invariant(nowNs >= this.lastNs, 'time does not run backwards');
    this.lastNs = nowNs;
    this.cluster.bars.advance(nowNs);
    const { results, arrived } = this;
    for (let i = 0; i < this.resultCount; i++) this.handleResult(results[i], nowNs);
    this.resultCount = 0;
    if (this.gpuChanges.length > 0) this.changeGpus(nowNs);
    for (let i = 0; i < this.arrivedCount; i++) {
      this.admit(arrived[i], nowNs);
      this.expire(nowNs);
    }
    this.arrivedCount = 0;
    this.expire(nowNs);
    this.policy.schedule(nowNs);
  }

  /**
   * When to call `step` next if nothing arrives before; Infinity: not needed. The due time of every request
   * is such a time, even of one that was answered since: the published scheduler looks around then, too, and
   * sends what has become possible.
   */
  nextWakeNs(nowNs: number): number {
    return Math.min(this.timeouts.topNs, this.cluster.bars.nextEndNs, this.policy.nextWakeNs(nowNs));
  }

  private admit(slot: number, nowNs: number): void {
    const model = this.requests.model[slot];
    this.requests.arrivalCopies[slot] = this.cluster.warm.count(model);
    if (this.predicts && !this.isExpectedInTime(slot, nowNs))
      this.answer(slot, OUTCOME_REJECTED, nowNs, null);
    else this.queue(slot, nowNs);
  }

  private isExpectedInTime(slot: number, nowNs: number): boolean {
    if (this.isPredictedInTime(slot, nowNs)) return true;
    // What is refused is not measured: one slow INFER would shut its model out for good.
    const forgot = this.cluster.forgetMeasurements(this.requests.model[slot], nowNs);
    return forgot && this.isPredictedInTime(slot, nowNs);
  }

  private isPredictedInTime(slot: number, nowNs: number): boolean {
    const { requests } = this;
    const model = requests.model[slot];
    const restNs = predictLatencyNs(this.cluster, model, this.policy.queued(model), nowNs);
    requests.predictedNs[slot] = nowNs - requests.arrivalNs[slot] + restNs;
    // A policy loads only models that it has requests for: without any, this one would never be loaded.
    if (this.cluster.held.count(model) === 0 && restNs < NEVER) return true;
    return nowNs + restNs <= requests.arrivalNs[slot] + requests.sloNs[slot];
  }

  private queue(slot: number, nowNs: number): void {
    const broken = this.cluster.cannotLoad(this.requests.model[slot]);
    const dueNs = broken ? REFUSE : this.policy.admit(slot, nowNs);
    if (dueNs === REFUSE) {
      this.answer(slot, broken ? OUTCOME_ERROR : OUTCOME_REJECTED, nowNs, null);
      return;
    }
    this.requests.dueNs[slot] = dueNs;
    if (dueNs < NEVER) this.timeouts.push(dueNs, slot, this.requests.id[slot]);
    else if (this.stranded) this.limitWait(slot);
  }

  private changeGpus(nowNs: number): void {
    for (const change of this.gpuChanges) {
      this.decisions.add(change.gpu);
      if (change.present === null) gpuWent(this.cluster, this.policy, change.gpu, nowNs);
      else gpuCame(this.cluster, this.policy, change.gpu, change.present, nowNs);
    }
    this.gpuChanges.length = 0;
    const stranded = this.cluster.exec.every(({ isClosed }) => isClosed);
    if (stranded && !this.stranded) this.requests.forWaiting(-1, (slot) => this.limitWait(slot));
    this.stranded = stranded;
  }

  /** A request without due time waits for a GPU to come back as long as its SLO allows, not for ever. */
  private limitWait(slot: number): void {
    const { arrivalNs, sloNs, id, dueNs } = this.requests;
    if (dueNs[slot] === NEVER) this.timeouts.push(arrivalNs[slot] + sloNs[slot], slot, id[slot]);
  }

  /** Answers `timeout` to every request that still waits at its due time. */
  private expire(nowNs: number): void {
    const { timeouts, requests } = this;
    while (timeouts.topNs <= nowNs) {
      const slot = timeouts.topSlot;
      const dueNs = requests.dueNs[slot];
      // One that the policy took back may have got a later due time than it had.
      const isDue = dueNs === NEVER ? this.stranded : dueNs <= nowNs;
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.id[slot] === timeouts.topId && isDue;
      timeouts.pop();
      if (!waits) continue;
      this.policy.timedOut(slot, nowNs);
      this.answer(slot, OUTCOME_TIMEOUT, nowNs, null);
    }
  }

  private handleResult(action: Action, nowNs: number): void {
    const { cluster } = this;
    const { gpu, model, status } = action;
    const ok = status === STATUS_OK;
    if (action.kind === INFER) {
      cluster.exec[gpu].finish(action.id, action.endNs);
      cluster.countRunning(gpu, model, -1);
      if (ok) cluster.measuredExec(action);
    } else if (action.kind === LOAD) {
      cluster.weights[gpu].finish(action.id, action.endNs);
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
    if (this.missedWindow === 'retry') this.slack.ended(action);
    this.policy.finished(action, nowNs);
    if (status === STATUS_DEVICE_ERROR && this.cluster.cannotLoad(model)) this.failWaiting(model, nowNs);
    this.observer?.completed(action, nowNs, this.policy.queued(model), cluster.warm.count(model));
    if (action.kind === INFER) this.answerBatch(action, nowNs);
    this.orders.recycle(action);
  }

  /** No device could load the model: requests that wait for it hear so at once. */
  private failWaiting(model: number, nowNs: number): void {
    this.requests.forWaiting(model, (slot) => {
      this.policy.timedOut(slot, nowNs);
      this.answer(slot, OUTCOME_ERROR, nowNs, null);
    });
  }

  private answerBatch(action: Action, nowNs: number): void {
    const { requests } = this;
    // An INFER refused in the instant it was sent would be sent and refused without end, except by policies made for it.
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
        requests.state[slot] = REQUEST_QUEUED;
        this.queue(slot, nowNs);
        continue;
      }
      const outcome = outcomeOf(action.status, inTime, missedWindow);
      this.answer(slot, outcome, nowNs, outcome === OUTCOME_TIMEOUT ? null : action);
    }
  }

  private answer(slot: number, outcome: Outcome, nowNs: number, action: Action | null): void {
    this.decisions.add(this.requests.id[slot]);
    this.decisions.add(outcome);
    this.observer?.answered(
      this.requests,
      slot,
      outcome,
      nowNs,
      this.cluster.warm.count(this.requests.model[slot]),
      action,
    );
    this.port.answer(slot, outcome, nowNs, action);
    this.requests.release(slot);
  }
}
