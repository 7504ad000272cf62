import type { Action } from './action.js';
import type { RequestClass } from './classes.js';
import type { Cluster } from './cluster.js';
import type { RequestTable } from './request.js';

/** Returned by `Policy.admit` to refuse a request at once. */
export const REFUSE = Number.NEGATIVE_INFINITY;

/** An INFER to send. */
export interface InferOrder {
  readonly gpu: number;
  readonly model: number;
  /** Index into the model's `batchSizes`. */
  readonly batchIndex: number;
  /** The requests are the first `count` slots; they are copied. */
  readonly slots: Int32Array;
  readonly count: number;
  /** The window in which the INFER may start. */
  readonly earliestNs: number;
  readonly latestNs: number;
  readonly nowNs: number;
}

/** An order that a policy refills for each INFER, to avoid allocation and keep one object shape. */
export class InferDraft implements InferOrder {
  gpu = 0;
  model = 0;
  batchIndex = 0;
  count = 0;
  earliestNs = 0;
  latestNs = 0;
  nowNs = 0;

  constructor(readonly slots: Int32Array) {}
}

/**
 * Actions available to a policy. All bookkeeping (timelines, pages, copies, request states) follows from these calls.
 */
export interface Dispatcher {
  /** Runs requests as one batch. Returns the id of the action. */
  infer(order: InferOrder): number;
  /** Loads a model onto a GPU, whose pages must be free. Returns the id of the action. */
  load(gpu: number, model: number, earliestNs: number, latestNs: number, nowNs: number): number;
  /** Unloads a warm model from a GPU and frees its pages at once. */
  unload(gpu: number, model: number, nowNs: number): void;
  /**
   * Cancels the INFERs of a GPU that have no result yet. Each ends with `STATUS_ABORTED`, a running one only after the
   * device's cost of stopping it, or normally if it finishes first; a device that can't stop lets it end. Requests come
   * back through `admit`.
   */
  abort(gpu: number, nowNs: number): void;
}

/** Environment passed to a policy's constructor. The policy owns none of it. */
export interface PolicyContext {
  readonly cluster: Cluster;
  readonly requests: RequestTable;
  readonly dispatch: Dispatcher;
  /** SLO of most requests; the load balancer's unit of capacity. */
  readonly defaultSloNs: number;
  /** Request classes, by `requests.requestClass`; at least one. */
  readonly classes: readonly RequestClass[];
  /** True if several tenants share the GPUs: `requests.isAboveShare` marks requests that may wait for others. */
  readonly hasShares: boolean;
}

/**
 * A scheduling policy: decides which action goes to which GPU, and when. The controller owns it and calls it in this
 * order at each instant: results, GPUs that left or joined, cancellations, arrivals, timeouts, then `schedule`. A
 * policy is pure: it learns the time from `nowNs` only, and equal calls always lead to equal decisions.
 */
export interface Policy {
  readonly name: string;
  /** True if it first serves requests of tenants within their shares (see `requests.isAboveShare`). */
  readonly sharesFirst?: boolean;
  /**
   * True if by default requests of an INFER that missed its window, or whose weights were absent, are offered to
   * `admit` again (with nonzero `dueNs`) while their SLO is not over; otherwise they are answered `error`. Every policy
   * must be able to take requests back, since controller options can override this.
   */
  readonly takesBack?: boolean;
  /** Current values, by name, of parameters that the policy tunes itself; names of durations end in `Ns`. */
  readonly tuned?: Readonly<Record<string, number>>;
  /**
   * Reports a new request before admission. It may still be refused: by the controller for its predicted latency, in
   * which case `admit` never sees it, or by `admit`.
   */
  offered?(slot: number, nowNs: number): void;
  /**
   * Decides on an arrived request. Returns the time at which it is answered `timeout` unless in an action by then
   * (Infinity: only while no GPU is in service), or REFUSE to answer `rejected` at once. On any other return value the
   * policy has queued the slot.
   */
  admit(slot: number, nowNs: number): number;
  /**
   * Reports that a queued request is given up: answered `timeout` or `error`, or withdrawn by its client if
   * `requests.isCancelled`, which is no sign of overload. The slot is released when this returns.
   */
  timedOut(slot: number, nowNs: number): void;
  /** Reports an action's result, already applied to the cluster; its requests are answered when this returns. */
  finished(action: Action, nowNs: number): void;
  /**
   * Reports that the model's weights left a GPU, or are there, without an UNLOAD or LOAD by this policy: a worker was
   * lost, or came back with what it still held. The cluster already reflects it.
   */
  weightsLost(gpu: number, model: number, nowNs: number): void;
  weightsFound(gpu: number, model: number, nowNs: number): void;
  /**
   * Reports that a model has entered an empty slot of the cluster, or is about to leave its own: none of its requests
   * wait, none of its actions run, and no GPU holds it by then. The policy must forget what it learned of a model that
   * leaves. Without these methods a policy must detect changes by itself; empty slots count in `cluster.models`, and
   * hold `NO_MODEL`.
   */
  modelCame?(model: number, nowNs: number): void;
  /**
   * Reports that the model gets no new requests, and leaves once those it has are answered: there is no point in
   * waiting for more.
   */
  modelRetires?(model: number, nowNs: number): void;
  modelGoes?(model: number, nowNs: number): void;
  /** Reports that the GPU's lanes were closed, or opened again. */
  lanesChanged(gpu: number, nowNs: number): void;
  /** Sends everything that can be sent now. */
  schedule(nowNs: number): void;
  /** Time of the next call if nothing arrives first, ns; Infinity: never. Always after `nowNs`. */
  nextWakeNs(nowNs: number): number;
  /**
   * Time before which `schedule` would do nothing unless something happens. With this method, `schedule` is also called at
   * the due times of requests answered since that are not before: the published scheduler wakes then and sends what has
   * become possible.
   */
  quietUntilNs?(nowNs: number): number;
  /** Number of requests waiting for a model: for logs. */
  queued(model: number): number;
  /**
   * Number of requests of its model served before the one in `slot`, which is about to be offered. Without this method,
   * a model's requests are assumed to be served in order of arrival.
   */
  queuedBefore?(slot: number): number;
}
