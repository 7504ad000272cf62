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
  /** The batch size is `batchSizes[batchIndex]` of the model. */
  readonly batchIndex: number;
  /** The requests are the first `count` slots; they are copied. */
  readonly slots: Int32Array;
  readonly count: number;
  /** The window in which the INFER may start. */
  readonly earliestNs: number;
  readonly latestNs: number;
  readonly nowNs: number;
}

/** An order that a policy fills in again for each INFER, so that sending one makes no object, and all orders have one shape. */
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
 * What a policy may do: send actions. All bookkeeping (timelines, pages, copies, request states)
 * follows from these calls.
 */
export interface Dispatcher {
  /** Runs requests as one batch. Returns the id of the action. */
  infer(order: InferOrder): number;
  /** Brings a model onto a GPU. Its pages must be free. Returns the id of the action. */
  load(gpu: number, model: number, earliestNs: number, latestNs: number, nowNs: number): number;
  /** Drops a warm model from a GPU and frees its pages at once. */
  unload(gpu: number, model: number, nowNs: number): void;
  /**
   * Calls off the INFERs of a GPU that have no result yet. Each ends with `STATUS_ABORTED`, what runs only after what
   * stopping it costs the device, or as ever if that comes first; a device that can't stop lets it end. Requests come
   * back through `admit`.
   */
  abort(gpu: number, nowNs: number): void;
}

/** What a policy is given when it is made. It owns none of it. */
export interface PolicyContext {
  readonly cluster: Cluster;
  readonly requests: RequestTable;
  readonly dispatch: Dispatcher;
  /** SLO that most requests carry; the load balancer's unit of capacity. */
  readonly defaultSloNs: number;
  /** What requests weigh, by `requests.requestClass`; at least one. */
  readonly classes: readonly RequestClass[];
  /** Several tenants share the GPUs: `requests.isAboveShare` says which requests may wait for others. */
  readonly hasShares: boolean;
}

/**
 * A scheduling policy: decides which action goes to which GPU, and when. The controller owns it and calls it in
 * this order at each instant: results, GPUs that went or came, cancellations, arrivals, timeouts, then `schedule`. A policy is
 * pure: it learns the time from `nowNs` only, and the same calls always lead to the same decisions.
 */
export interface Policy {
  readonly name: string;
  /** True: it serves requests first whose tenants are not above their shares: `requests.isAboveShare`. */
  readonly sharesFirst?: boolean;
  /**
   * True: unless the options of the controller say otherwise, requests of an INFER that missed its window, or whose weights were not
   * there, are offered to `admit` again (their `dueNs` is not 0 then) while their SLO is not over; otherwise they
   * are answered `error`. Every policy must be able to take requests back.
   */
  readonly takesBack?: boolean;
  /** What the policy tunes by itself, present values by name; names of durations end in `Ns`. */
  readonly tuned?: Readonly<Record<string, number>>;
  /**
   * A new request has come, and may yet be refused: by the controller for the latency that is predicted, and then `admit`
   * never sees it, or by `admit`.
   */
  offered?(slot: number, nowNs: number): void;
  /**
   * A request arrived. Returns the time at which it shall be answered `timeout` if it is not in an
   * action by then (Infinity: only while no GPU is there), or REFUSE to answer `rejected` at once. On any other return
   * value the policy has queued the slot.
   */
  admit(slot: number, nowNs: number): number;
  /**
   * A queued request is given up: answered `timeout`, or `error`, or withdrawn by its client if `requests.isCancelled`, which is
   * no sign of overload. The slot is released when this returns.
   */
  timedOut(slot: number, nowNs: number): void;
  /** An action's result was applied to the cluster; its requests are answered when this returns. */
  finished(action: Action, nowNs: number): void;
  /**
   * The model's weights went away from a GPU, or are there, though no UNLOAD or LOAD of this policy's made them: a
   * worker was lost, or has come back with what it still held. The cluster knows it already.
   */
  weightsLost(gpu: number, model: number, nowNs: number): void;
  weightsFound(gpu: number, model: number, nowNs: number): void;
  /**
   * A model has come into an empty slot of the cluster, or is about to leave its own: nothing of it waits, runs or is
   * held by then. What was learned of a model that goes is to be forgotten. Without these methods a policy must
   * find out by itself; slots that are empty now count in `cluster.models`, and hold `NO_MODEL`.
   */
  modelCame?(model: number, nowNs: number): void;
  /** The model gets no new requests any more, and goes when those that it has are answered: none need wait for more. */
  modelRetires?(model: number, nowNs: number): void;
  modelGoes?(model: number, nowNs: number): void;
  /** The GPU's lanes were closed, or opened again. */
  lanesChanged(gpu: number, nowNs: number): void;
  /** Sends everything that can be sent now. */
  schedule(nowNs: number): void;
  /** When it wants to be called again though nothing arrives, ns; Infinity: never. Always after `nowNs`. */
  nextWakeNs(nowNs: number): number;
  /** Requests that wait for a model: for logs. */
  queued(model: number): number;
  /**
   * Requests of its model that go before the one in `slot`, which is about to be offered. A policy without this method
   * serves the requests of a model in their order of arrival.
   */
  queuedBefore?(slot: number): number;
}
