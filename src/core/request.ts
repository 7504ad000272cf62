import { grown } from '../base/grown.js';
import { STATUS_OK } from './action.js';

/** Outcome of a request. Every request gets exactly one. */
export const OUTCOME_OK = 0;
/** Executed, and answered after its deadline. */
export const OUTCOME_LATE = 1;
/** Given up before execution: in no INFER by the time that the policy set. */
export const OUTCOME_TIMEOUT = 2;
/** Refused on arrival. */
export const OUTCOME_REJECTED = 3;
/** Put into an action that failed. */
export const OUTCOME_ERROR = 4;
/** Withdrawn before execution, because its client has gone. */
export const OUTCOME_CANCELLED = 5;
export const OUTCOME_NAMES = ['ok', 'late', 'timeout', 'rejected', 'error', 'cancelled'] as const;
export type Outcome = 0 | 1 | 2 | 3 | 4 | 5;

/** States of a request's slot. */
export const REQUEST_FREE = 0;
/** Waits in its model's queue. */
export const REQUEST_QUEUED = 1;
/** In an action sent to a worker. */
export const REQUEST_IN_ACTION = 2;
/** State of a pipeline's request, while requests of its steps serve it. */
export const REQUEST_IN_PIPELINE = 3;

const INITIAL_CAPACITY = 1024;

/**
 * Unanswered requests as a struct of arrays: a request is a *slot*, a small integer that is reused once the request is
 * answered. `id` tells whether a slot still holds the same request.
 */
export class RequestTable {
  /** Sequence number of the request in the run, from 0. */
  id = new Float64Array(INITIAL_CAPACITY);
  state = new Uint8Array(INITIAL_CAPACITY);
  model = new Int32Array(INITIAL_CAPACITY);
  user = new Int32Array(INITIAL_CAPACITY);
  /** Index among the classes of the run. */
  requestClass = new Uint8Array(INITIAL_CAPACITY);
  /** Index among the tenants of the run. */
  tenant = new Int32Array(INITIAL_CAPACITY);
  /** Length of the input, 0 if irrelevant; index of the smallest of its model's lengths that holds it. */
  length = new Int32Array(INITIAL_CAPACITY);
  bucket = new Uint8Array(INITIAL_CAPACITY);
  arrivalNs = new Float64Array(INITIAL_CAPACITY);
  /** SLO. The deadline is `arrivalNs + sloNs`. */
  sloNs = new Float64Array(INITIAL_CAPACITY);
  /**
   * Deadline that the policy plans for; the request is answered `timeout` then if still queued. Infinity: none; 0: not
   * yet seen by the policy.
   */
  dueNs = new Float64Array(INITIAL_CAPACITY);
  /** Demand that the request adds to its model, in the load balancer's units. */
  execDemand = new Float64Array(INITIAL_CAPACITY);
  loadDemand = new Float64Array(INITIAL_CAPACITY);
  /** Reason why the policy has not seen it: `LIMIT_NONE` and the like in tenants.ts. */
  limit = new Uint8Array(INITIAL_CAPACITY);
  /** Only with tenants: 1 if an idle GPU could have met its SLO on arrival. */
  possible = new Uint8Array(INITIAL_CAPACITY);
  /** 1 if its tenant is above its share, so that requests of others go first. */
  isAboveShare = new Uint8Array(INITIAL_CAPACITY);
  /** For a refused request: latency expected on arrival; beyond a rate limit, time until the next may be sent. */
  predictedNs = new Float64Array(INITIAL_CAPACITY);
  /** Number of GPUs that held the model, warm, on arrival; 0 is a cold start. */
  arrivalCopies = new Int32Array(INITIAL_CAPACITY);
  /** 1 if its client has gone: not executed unless already in an action. */
  isCancelled = new Uint8Array(INITIAL_CAPACITY);
  /** Id and status of its last INFER that failed; −1 and `STATUS_OK` if none. */
  failedInfer = new Float64Array(INITIAL_CAPACITY);
  failedStatus = new Int32Array(INITIAL_CAPACITY);
  /**
   * Only with pipelines. For a request of a step: the number of the step among those of all pipelines, from 1, and the
   * id of the pipeline's request. For that of a pipeline: the negative number of the step that failed. Otherwise 0.
   */
  step = new Int32Array(INITIAL_CAPACITY);
  parent = new Float64Array(INITIAL_CAPACITY);
  /** Only with variants: accuracy of the model chosen, or for a pipeline's request of its whole answer. Otherwise 0. */
  accuracy = new Float64Array(INITIAL_CAPACITY);

  /** True while no request has had a class, tenant or length: these fields are then zero in all slots. */
  private areAlike = true;
  private free: number[] = [];
  private used = 0;
  private nextId = 0;

  /** Number of unanswered requests. */
  get size(): number {
    return this.used - this.free.length;
  }

  /** Allocates a slot for a new request. The caller fills in the policy's decisions. */
  allocate(
    model: number,
    arrivalNs: number,
    sloNs: number,
    user: number,
    requestClass = 0,
    tenant = 0,
    length = 0,
    bucket = 0,
  ): number {
    const slot = this.free.length > 0 ? (this.free.pop() as number) : this.used++;
    if (slot === this.id.length) this.grow();
    this.id[slot] = this.nextId++;
    this.state[slot] = REQUEST_QUEUED;
    this.model[slot] = model;
    this.user[slot] = user;
    if (requestClass + tenant + length + bucket > 0) this.areAlike = false;
    if (!this.areAlike) {
      this.requestClass[slot] = requestClass;
      this.tenant[slot] = tenant;
      this.length[slot] = length;
      this.bucket[slot] = bucket;
    }
    this.arrivalNs[slot] = arrivalNs;
    this.sloNs[slot] = sloNs;
    this.dueNs[slot] = 0;
    this.execDemand[slot] = 0;
    this.loadDemand[slot] = 0;
    this.predictedNs[slot] = 0;
    this.isCancelled[slot] = 0;
    this.failedInfer[slot] = -1;
    this.failedStatus[slot] = STATUS_OK;
    return slot;
  }

  release(slot: number): void {
    this.state[slot] = REQUEST_FREE;
    this.free.push(slot);
  }

  /** Visits the requests that a policy keeps, of one model or of all (−1). Slow: not for frequent use. */
  forWaiting(wanted: number, visit: (slot: number) => void): void {
    const { state, dueNs, model } = this;
    for (let slot = 0; slot < this.used; slot++) {
      const isKept = state[slot] === REQUEST_QUEUED && dueNs[slot] !== 0;
      if (isKept && (wanted < 0 || model[slot] === wanted)) visit(slot);
    }
  }

  private grow(): void {
    const capacity = this.id.length * 2;
    this.id = grown(this.id, capacity);
    this.state = grown(this.state, capacity);
    this.model = grown(this.model, capacity);
    this.user = grown(this.user, capacity);
    this.requestClass = grown(this.requestClass, capacity);
    this.tenant = grown(this.tenant, capacity);
    this.length = grown(this.length, capacity);
    this.bucket = grown(this.bucket, capacity);
    this.arrivalNs = grown(this.arrivalNs, capacity);
    this.sloNs = grown(this.sloNs, capacity);
    this.dueNs = grown(this.dueNs, capacity);
    this.execDemand = grown(this.execDemand, capacity);
    this.loadDemand = grown(this.loadDemand, capacity);
    this.limit = grown(this.limit, capacity);
    this.possible = grown(this.possible, capacity);
    this.isAboveShare = grown(this.isAboveShare, capacity);
    this.predictedNs = grown(this.predictedNs, capacity);
    this.arrivalCopies = grown(this.arrivalCopies, capacity);
    this.isCancelled = grown(this.isCancelled, capacity);
    this.failedInfer = grown(this.failedInfer, capacity);
    this.failedStatus = grown(this.failedStatus, capacity);
    this.step = grown(this.step, capacity);
    this.parent = grown(this.parent, capacity);
    this.accuracy = grown(this.accuracy, capacity);
  }
}
