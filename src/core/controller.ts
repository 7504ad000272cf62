import { Action, type ActionKind, INFER, LOAD, STATUS_OK, STATUS_PENDING, UNLOAD } from './action.js';
import { Cluster, type ClusterSpec } from './cluster.js';
import { Digest } from './digest.js';
import { DueQueue } from './due-queue.js';
import { invariant } from './invariant.js';
import type { RunObserver } from './observer.js';
import { type Dispatcher, type Policy, type PolicyContext, REFUSE } from './policy.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  REQUEST_IN_ACTION,
  REQUEST_QUEUED,
  RequestTable,
} from './request.js';

/** Where the controller's output goes. Called during `step`, never at other times. */
export interface ControllerPort {
  /** Send the action to its GPU's worker. The object comes back through `result`. */
  send(action: Action, nowNs: number): void;
  /** Answer the request in `slot`. The slot is free again when this returns. */
  answer(slot: number, outcome: Outcome, nowNs: number): void;
}

export interface ControllerOptions {
  readonly cluster: ClusterSpec;
  readonly defaultSloNs: number;
  readonly createPolicy: (context: PolicyContext) => Policy;
  readonly port: ControllerPort;
  readonly observer?: RunObserver;
}

/**
 * The central controller as a pure state machine. A driver tells it what happened (`offer`, `result`),
 * then calls `step` with the time; orders and answers leave through the port during that call. It reads no
 * clock and sets no timer: `nextWakeNs` says when it wants the next `step` if nothing happens before.
 */
export class Controller implements Dispatcher {
  readonly cluster: Cluster;
  readonly requests = new RequestTable();

  private readonly policy: Policy;
  private readonly port: ControllerPort;
  private readonly observer: RunObserver | null;
  private readonly timeouts = new DueQueue();
  private readonly decisions = new Digest();
  private readonly pool: Action[] = [];
  private nextActionId = 0;
  private lastNs = 0;
  /** Inputs since the last step, in the order they came; the arrays keep their length, these count. */
  private readonly results: Action[] = [];
  private resultCount = 0;
  private readonly arrived: number[] = [];
  private arrivedCount = 0;

  constructor(options: ControllerOptions) {
    this.cluster = new Cluster(options.cluster);
    this.port = options.port;
    this.observer = options.observer ?? null;
    this.policy = options.createPolicy({
      cluster: this.cluster,
      requests: this.requests,
      dispatch: this,
      defaultSloNs: options.defaultSloNs,
    });
  }

  /** Running hash of all decisions so far, 16 hex digits. */
  get digest(): string {
    return this.decisions.toString();
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

  /** True if something was offered or answered since the last `step`. */
  get hasInput(): boolean {
    return this.resultCount > 0 || this.arrivedCount > 0;
  }

  /** Takes in everything that happened, then decides until there is nothing left to decide. */
  step(nowNs: number): void {
    invariant(nowNs >= this.lastNs, 'time does not run backwards');
    this.lastNs = nowNs;
    const { results, arrived } = this;
    for (let i = 0; i < this.resultCount; i++) this.handleResult(results[i], nowNs);
    this.resultCount = 0;
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
    return Math.min(this.timeouts.topNs, this.policy.nextWakeNs(nowNs));
  }

  infer(
    gpu: number,
    model: number,
    batchIndex: number,
    slots: Int32Array,
    count: number,
    earliestNs: number,
    latestNs: number,
    nowNs: number,
  ): void {
    invariant(this.cluster.warm.has(model, gpu), 'INFER goes to a GPU that holds the model');
    const action = this.newAction(INFER, gpu, model, nowNs);
    action.batchIndex = batchIndex;
    action.batchSize = this.cluster.models[model].batchSizes[batchIndex];
    invariant(count > 0 && count <= action.batchSize, 'a batch is neither empty nor over its size');
    for (let i = 0; i < count; i++) {
      const slot = slots[i];
      invariant(this.requests.state[slot] === REQUEST_QUEUED, 'a request is in one action at a time');
      this.requests.state[slot] = REQUEST_IN_ACTION;
      action.requests[i] = slot;
      this.decisions.add(this.requests.id[slot]);
    }
    action.count = count;
    const timeline = this.cluster.exec[gpu];
    const durationNs = this.cluster.execNs(gpu, model, batchIndex);
    this.book(action, timeline.availableNs(nowNs), durationNs, earliestNs, latestNs);
    timeline.add(action.id, durationNs, nowNs);
    this.port.send(action, nowNs);
  }

  load(gpu: number, model: number, earliestNs: number, latestNs: number, nowNs: number): void {
    invariant(this.cluster.held.add(model, gpu), 'LOAD goes to a GPU that lacks the model');
    this.cluster.pages[gpu].take(this.cluster.models[model].pages);
    const action = this.newAction(LOAD, gpu, model, nowNs);
    const timeline = this.cluster.weights[gpu];
    const durationNs = this.cluster.loadNs(model);
    this.book(action, timeline.availableNs(nowNs), durationNs, earliestNs, latestNs);
    timeline.add(action.id, durationNs, nowNs);
    this.port.send(action, nowNs);
  }

  unload(gpu: number, model: number, nowNs: number): void {
    invariant(this.cluster.warm.delete(model, gpu), 'UNLOAD goes to a GPU where the model is warm');
    this.cluster.held.delete(model, gpu);
    this.cluster.pages[gpu].release(this.cluster.models[model].pages);
    const action = this.newAction(UNLOAD, gpu, model, nowNs);
    // Earliest 0 puts it before any LOAD that waits for the pages it gives back.
    this.book(action, 0, 0, 0, Number.POSITIVE_INFINITY);
    this.port.send(action, nowNs);
  }

  private admit(slot: number, nowNs: number): void {
    const model = this.requests.model[slot];
    this.requests.arrivalCopies[slot] = this.cluster.warm.count(model);
    const dueNs = this.policy.admit(slot, nowNs);
    if (dueNs === REFUSE) {
      this.answer(slot, OUTCOME_REJECTED, nowNs, null);
      return;
    }
    this.requests.dueNs[slot] = dueNs;
    if (dueNs < Number.POSITIVE_INFINITY) this.timeouts.push(dueNs, slot, this.requests.id[slot]);
  }

  /** Answers `timeout` to every request that still waits at its due time. */
  private expire(nowNs: number): void {
    const { timeouts, requests } = this;
    while (timeouts.topNs <= nowNs) {
      const slot = timeouts.topSlot;
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.id[slot] === timeouts.topId;
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
      if (ok)
        cluster.measuredExec(gpu, model, action.batchIndex, action.endNs - action.beginNs, action.clock);
    } else if (action.kind === LOAD) {
      cluster.weights[gpu].finish(action.id, action.endNs);
      if (ok) {
        cluster.measuredLoad(model, action.endNs - action.beginNs);
        cluster.warm.add(model, gpu);
      } else {
        cluster.held.delete(model, gpu);
        cluster.pages[gpu].release(cluster.models[model].pages);
      }
    }
    this.policy.finished(action, nowNs);
    this.observer?.completed(action, nowNs, this.policy.queued(model), cluster.warm.count(model));
    if (action.kind === INFER) this.answerBatch(action, ok, nowNs);
    this.pool.push(action);
  }

  private answerBatch(action: Action, ok: boolean, nowNs: number): void {
    const { requests } = this;
    for (let i = 0; i < action.count; i++) {
      const slot = action.requests[i];
      const inTime = nowNs <= requests.arrivalNs[slot] + requests.sloNs[slot];
      this.answer(slot, ok ? (inTime ? OUTCOME_OK : OUTCOME_LATE) : OUTCOME_ERROR, nowNs, action);
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
    this.port.answer(slot, outcome, nowNs);
    this.requests.release(slot);
  }

  private newAction(kind: ActionKind, gpu: number, model: number, nowNs: number): Action {
    const action = this.pool.pop() ?? new Action(this.cluster.maxBatch);
    action.id = this.nextActionId++;
    action.kind = kind;
    action.gpu = gpu;
    action.model = model;
    action.batchIndex = 0;
    action.batchSize = 1;
    action.count = 0;
    action.sentNs = nowNs;
    action.status = STATUS_PENDING;
    return action;
  }

  private book(
    action: Action,
    startNs: number,
    durationNs: number,
    earliestNs: number,
    latestNs: number,
  ): void {
    action.expectedDurationNs = durationNs;
    action.expectedEndNs = startNs + durationNs;
    action.earliestNs = earliestNs;
    action.latestNs = latestNs;
    const { decisions } = this;
    decisions.add(action.sentNs);
    decisions.add((action.gpu * 3 + action.kind) * 4096 + action.batchSize);
    decisions.add(action.model);
    decisions.add(earliestNs);
    decisions.add(latestNs);
  }
}
