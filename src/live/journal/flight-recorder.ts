import { type Action, INFER, LOAD } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_NAMES,
  OUTCOME_REJECTED,
  type Outcome,
  REQUEST_QUEUED,
  type RequestTable,
} from '../../core/request.js';
import { statusName } from '../../core/status-names.js';
import { LIMIT_NONE } from '../../core/tenants.js';
import type { LaneTimeline } from '../../core/timeline.js';
import {
  type Flight,
  type FlightAction,
  type FlightAnswer,
  type Knowledge,
  type KnownGpu,
  limitName,
} from '../../record/flight/flight.js';
import type { JournalHeader } from './journal-header.js';
import type { ReplayWatcher } from './replay.js';

/** Watches one request of a replay, as both observer and watcher. */
export class FlightRecorder implements RunObserver, ReplayWatcher {
  private controller!: Controller;
  private predicts = false;
  /** Slot of the request while it is in the controller; −1: not yet, or no longer. */
  private slot = -1;
  private came: Omit<Flight, 'request' | 'dueNs' | 'known' | 'actions' | 'passedBy' | 'answer'> | null = null;
  private header!: JournalHeader;
  private readonly known: Knowledge[] = [];
  private readonly actions: FlightAction[] = [];
  private passedBy = 0;
  private trace: string | null = null;
  private dueNs: number | null = null;
  private answer: FlightAnswer | null = null;
  /** LOADs of all models without a result: one may be in progress when the request arrives. */
  private readonly loads = new Map<number, { readonly model: number; readonly load: FlightAction }>();

  /** `request`: its sequence number in the run, from 0. */
  constructor(private readonly request: number) {}

  /** Null: the run had no such request. */
  get flight(): Flight | null {
    const { request, came, trace, dueNs, known, actions, passedBy, answer } = this;
    if (came === null) return null;
    const traced = trace === null ? {} : { trace };
    return { request, ...came, ...traced, dueNs, known, actions, passedBy, answer };
  }

  started(header: JournalHeader, controller: Controller): void {
    this.controller = controller;
    this.header = header;
    this.predicts = header.admission === 'predict';
  }

  admitting(slot: number, nowNs: number): void {
    if (this.isIt(slot)) this.takeIn(slot, nowNs);
  }

  traced(request: number, traceparent: string): void {
    if (request === this.request) this.trace = traceparent;
  }

  sent(action: Action): void {
    const { requests, cluster } = this.controller;
    const { slot } = this;
    const model = slot < 0 ? -1 : requests.model[slot];
    const waits = slot >= 0 && requests.state[slot] === REQUEST_QUEUED;
    if (action.kind === LOAD) {
      const load = describe(action, null);
      this.loads.set(action.id, { model: action.model, load });
      if (waits && action.model === model) this.actions.push(load);
    } else if (action.kind === INFER && slot >= 0) {
      const together = action.requests.subarray(0, action.count);
      if (together.includes(slot)) {
        const deadlines = Array.from(together, (one) => requests.arrivalNs[one] + requests.sloNs[one]);
        this.actions.push(describe(action, Math.max(...deadlines)));
      } else if (waits && action.model !== model && cluster.warm.has(model, action.gpu)) this.passedBy++;
    }
  }

  completed(action: Action, nowNs: number): void {
    const { id, beginNs, endNs } = action;
    const seen = this.loads.get(id)?.load ?? this.actions.find((candidate) => candidate.id === id);
    this.loads.delete(id);
    if (seen !== undefined) {
      seen.result = { status: statusName(action.status), beginNs, endNs, handledNs: nowNs };
    }
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    if (!this.isIt(slot)) return;
    // The policy does not see requests refused by admission.
    if (this.slot < 0) this.takeIn(slot, nowNs);
    this.slot = -1;
    const latencyNs = nowNs - requests.arrivalNs[slot];
    this.answer = { outcome: OUTCOME_NAMES[outcome], atNs: nowNs, latencyNs };
    if (outcome !== OUTCOME_REJECTED) this.dueNs = finite(requests.dueNs[slot]);
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs);
  }

  private isIt(slot: number): boolean {
    return this.controller.requests.id[slot] === this.request;
  }

  private senderOf({ requestClass, tenant, limit, length }: RequestTable, slot: number) {
    const { classes, tenants } = this.header;
    const limited = tenants === undefined ? undefined : limitName(limit[slot]);
    return {
      ...(classes === undefined ? {} : { class: classes[requestClass[slot]]!.name }),
      ...(tenants === undefined ? {} : { tenant: tenants[tenant[slot]]!.name }),
      ...(limited === undefined ? {} : { limit: limited }),
      ...(length[slot] === 0 ? {} : { length: length[slot] }),
    };
  }

  private takeIn(slot: number, nowNs: number): void {
    const { requests } = this.controller;
    const model = requests.model[slot];
    if (this.came === null) {
      const arrivalNs = requests.arrivalNs[slot];
      const sloNs = requests.sloNs[slot];
      this.came = {
        model: this.controller.nameOf(model),
        user: requests.user[slot],
        ...this.senderOf(requests, slot),
        arrivalNs,
        sloNs,
        deadlineNs: arrivalNs + sloNs,
      };
      for (const { model: loading, load } of this.loads.values()) {
        if (loading === model) this.actions.push(load);
      }
    }
    this.slot = slot;
    // The policy knows only the requests of a pipeline's steps.
    if (!this.controller.isPipeline(model)) this.known.push(this.knowledge(model, nowNs));
  }

  private knowledge(model: number, nowNs: number): Knowledge {
    const { cluster, requests } = this.controller;
    // Admission does not see requests refused by a limit, whose `predictedNs` is the wait for the next one.
    const isLimited = this.header.tenants !== undefined && requests.limit[this.slot] !== LIMIT_NONE;
    const gpus: KnownGpu[] = [];
    for (let gpu = cluster.held.next(model, 0); gpu >= 0; gpu = cluster.held.next(model, gpu + 1)) {
      const execFreeNs = soonestNs([cluster.exec[gpu]], nowNs);
      const weightsFreeNs = soonestNs([cluster.weights[gpu]], nowNs);
      gpus.push({ gpu, warm: cluster.warm.has(model, gpu), execFreeNs, weightsFreeNs });
    }
    return {
      atNs: nowNs,
      queued: this.earlierInQueue(model),
      inferNs: cluster.nominalExecNs(model, 0),
      loadNs: cluster.loadNs(model),
      predictedNs: this.predicts && !isLimited ? finite(requests.predictedNs[this.slot]) : null,
      gpus,
      weightsFreeNs: soonestNs(cluster.weights, nowNs),
    };
  }

  private earlierInQueue(model: number): number {
    const { requests } = this.controller;
    let count = 0;
    for (let slot = 0; slot < requests.state.length; slot++) {
      const waits = requests.state[slot] === REQUEST_QUEUED && requests.model[slot] === model;
      if (waits && requests.id[slot] < this.request) count++;
    }
    return count;
  }
}

function describe(action: Action, lastDeadlineNs: number | null): FlightAction {
  const { id, gpu, batchSize, count, sentNs, earliestNs, expectedDurationNs } = action;
  return {
    id,
    kind: action.kind === LOAD ? 'LOAD' : 'INFER',
    gpu,
    batchSize,
    count,
    lastDeadlineNs,
    sentNs,
    earliestNs,
    latestNs: finite(action.latestNs),
    expectedStartNs: action.expectedEndNs - expectedDurationNs,
    expectedDurationNs,
    result: null,
  };
}

/** Earliest time at which one of these lanes should be free; null: all are closed. */
function soonestNs(lanes: readonly LaneTimeline[], nowNs: number): number | null {
  return finite(
    lanes.reduce((soonest, lane) => Math.min(soonest, lane.availableNs(nowNs)), Number.POSITIVE_INFINITY),
  );
}

/** JSON has no Infinity. */
function finite(ns: number): number | null {
  return Number.isFinite(ns) ? ns : null;
}
