import { type Action, INFER, LOAD } from '../../core/action.js';
import type { Controller } from '../../core/controller.js';
import type { RunObserver } from '../../core/observer.js';
import type { PipelineSpec, PipelineStep } from '../../core/pipelines.js';
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
import { CAUSES, type Cause, CauseFinder } from '../../record/causes.js';
import { explain } from '../../record/flight/explain.js';
import {
  type Flight,
  type FlightAction,
  type FlightAnswer,
  type Knowledge,
  type KnownGpu,
  limitName,
} from '../../record/flight/flight.js';
import { type PipelineFlight, whyEnded } from '../../record/flight/pipeline-flight.js';
import type { JournalHeader } from './journal-header.js';
import type { ReplayWatcher } from './replay.js';

/** Watches one request of a replay, as both observer and watcher. */
export class FlightRecorder implements RunObserver, ReplayWatcher {
  private controller!: Controller;
  private predicts = false;
  /** Slot of the request while it is in the controller; −1: not yet, or no longer. */
  private slot = -1;
  private came: Omit<
    Flight,
    'request' | 'dueNs' | 'known' | 'actions' | 'passedBy' | 'overtakenBy' | 'answer'
  > | null = null;
  private header!: JournalHeader;
  private readonly known: Knowledge[] = [];
  private readonly actions: FlightAction[] = [];
  private passedBy = 0;
  private overtakenBy = 0;
  private trace: string | null = null;
  private dueNs: number | null = null;
  private answer: FlightAnswer | null = null;
  /** By number: steps of all pipelines. */
  private readonly allSteps: PipelineStep[] = [];
  /** By number: requests of the steps of the pipeline that it is for. */
  private readonly steps = new Map<
    number,
    { readonly step: PipelineStep; readonly recorder: FlightRecorder }
  >();
  private isOfPipeline = false;
  private failedStep: PipelineStep | undefined;
  private cause: Cause | null = null;
  private finder!: CauseFinder;

  /**
   * `request`: its sequence number in the run, from 0. `loads`: LOADs of all models without a result: one may be in
   * progress when the request arrives.
   */
  constructor(
    private readonly request: number,
    private readonly loads = new Map<number, { readonly model: number; readonly load: FlightAction }>(),
  ) {}

  /** Null: the run had no such request. */
  get flight(): Flight | null {
    const { request, came, trace, dueNs, known, actions, passedBy, overtakenBy, answer } = this;
    if (came === null) return null;
    const traced = trace === null ? {} : { trace };
    return { request, ...came, ...traced, dueNs, known, actions, passedBy, overtakenBy, answer };
  }

  /** Null: it is not for a pipeline. */
  get pipelineFlight(): PipelineFlight | null {
    const { request, came, answer, cause, failedStep } = this;
    if (came === null || !this.isOfPipeline) return null;
    const all = [...this.steps].map(([id, { step, recorder }]) => ({
      id,
      step,
      flight: recorder.flight as Flight,
    }));
    const failed = all.find(({ step, flight }) => step === failedStep && hasFailed(flight.answer));
    const { model: pipeline, arrivalNs, sloNs } = came;
    const facts = {
      ...{ request, pipeline, arrivalNs, sloNs, answer, cause },
      steps: all.map(({ id, step, flight }) => ({
        ...{
          step: step.id,
          request: id,
          infer: flight.actions.findLast(({ kind }) => kind === 'INFER')?.id ?? -1,
        },
        ...(step.variants === undefined ? {} : { model: flight.model }),
        ...{ arrivalNs: flight.arrivalNs, deadlineNs: flight.deadlineNs, answer: flight.answer },
      })),
    };
    return { ...facts, why: whyEnded(facts, failedStep?.id, failed?.id, failed && explain(failed.flight)) };
  }

  pipelineCame(first: number, { steps }: PipelineSpec): void {
    for (const [s, step] of steps.entries()) this.allSteps[first + s] = step;
  }

  started(header: JournalHeader, controller: Controller): void {
    this.controller = controller;
    this.header = header;
    this.predicts = header.admission === 'predict';
    this.finder = new CauseFinder(controller.cluster.models);
  }

  admitting(slot: number, nowNs: number): void {
    if (this.isIt(slot)) this.takeIn(slot, nowNs);
    else this.ofStep(slot, nowNs)?.admitting(slot, nowNs);
  }

  traced(request: number, traceparent: string): void {
    if (request === this.request) this.trace = traceparent;
  }

  sent(action: Action): void {
    for (const { recorder } of this.steps.values()) recorder.sent(action);
    const { requests, cluster } = this.controller;
    const { slot } = this;
    const model = slot < 0 ? -1 : requests.model[slot];
    const waits = slot >= 0 && requests.state[slot] === REQUEST_QUEUED;
    if (action.kind === LOAD) {
      const load = this.loads.get(action.id)?.load ?? describe(action, null);
      this.loads.set(action.id, { model: action.model, load });
      if (waits && action.model === model) this.actions.push(load);
    } else if (action.kind === INFER && slot >= 0) {
      const together = action.requests.subarray(0, action.count);
      if (together.includes(slot)) {
        const deadlines = Array.from(together, (one) => requests.arrivalNs[one] + requests.sloNs[one]);
        this.actions.push(describe(action, Math.max(...deadlines)));
      } else if (waits && action.model === model)
        this.overtakenBy += together.filter((one) => requests.id[one]! > this.request).length;
      else if (waits && cluster.warm.has(model, action.gpu)) this.passedBy++;
    }
  }

  completed(action: Action, nowNs: number, queued: number, copies: number): void {
    this.finder.completed(action, nowNs, copies);
    for (const { recorder } of this.steps.values()) recorder.completed(action, nowNs, queued, copies);
    const { id, beginNs, endNs } = action;
    const seen = this.loads.get(id)?.load ?? this.actions.find((candidate) => candidate.id === id);
    this.loads.delete(id);
    if (seen !== undefined) {
      seen.result = { status: statusName(action.status), beginNs, endNs, handledNs: nowNs };
    }
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, copies: number): void {
    if (!this.isIt(slot)) {
      this.ofStep(slot, nowNs)?.answered(requests, slot, outcome, nowNs, copies);
      return;
    }
    // The policy does not see requests refused by admission.
    if (this.slot < 0) this.takeIn(slot, nowNs);
    this.slot = -1;
    this.failedStep = this.allSteps[-requests.step[slot]];
    this.cause = CAUSES[this.finder.indexOf(requests, slot, outcome, nowNs, copies)] ?? null;
    const latencyNs = nowNs - requests.arrivalNs[slot];
    this.answer = { outcome: OUTCOME_NAMES[outcome], atNs: nowNs, latencyNs };
    if (outcome !== OUTCOME_REJECTED) this.dueNs = finite(requests.dueNs[slot]);
  }

  cancelled(requests: RequestTable, slot: number, nowNs: number): void {
    this.answered(requests, slot, OUTCOME_CANCELLED, nowNs, 0);
  }

  /** Recorder of the request in `slot`, if it is of a step. */
  private ofStep(slot: number, nowNs: number): FlightRecorder | undefined {
    const { requests } = this.controller;
    if (requests.step[slot] <= 0 || requests.parent[slot] !== this.request) return undefined;
    if (this.came === null) this.takeIn(requests.id.indexOf(this.request), nowNs);
    const id = requests.id[slot];
    const known = this.steps.get(id);
    if (known !== undefined) return known.recorder;
    const recorder = new FlightRecorder(id, this.loads);
    recorder.started(this.header, this.controller);
    this.steps.set(id, { step: this.allSteps[requests.step[slot]], recorder });
    return recorder;
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
    this.isOfPipeline = this.controller.isPipeline(model);
    if (!this.isOfPipeline) this.known.push(this.knowledge(model, nowNs));
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

/** Once one has failed, the others are withdrawn. */
function hasFailed(answer: FlightAnswer | null): boolean {
  return answer !== null && !['ok', 'late', 'cancelled'].includes(answer.outcome);
}

/** JSON has no Infinity. */
function finite(ns: number): number | null {
  return Number.isFinite(ns) ? ns : null;
}
