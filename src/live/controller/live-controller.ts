import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_MS } from '../../base/units.js';
import { pause } from '../../base/world/pause.js';
import type { Timer } from '../../base/world/time.js';
import { type Action, LOAD, STATUS_OK, STATUS_WORKER_LOST } from '../../core/action.js';
import { Controller } from '../../core/controller.js';
import { MOST_PIPELINES, variantsOf } from '../../core/pipelines.js';
import { OUTCOME_REJECTED, type Outcome } from '../../core/request.js';
import { LIVE_MISSED_WINDOW } from '../../core/retry.js';
import type { ResultMessage } from '../messages.js';
import type { ServedModel } from '../model.js';
import type { ModelReference } from '../model-list.js';
import type { ServedPipeline } from '../pipeline.js';
import type { InferenceRequest, RequestKeeper, SchedulingService, ServiceState } from '../service.js';
import { fitting } from './cluster-of-workers.js';
import {
  Answers,
  Departures,
  GpuFailures,
  HangWatch,
  InFlight,
  notExecuted,
  tooLate,
  unloadMessage,
  unsentResult,
} from './in-flight.js';
import type { LiveControllerOptions } from './live-controller-options.js';
import { LiveModels } from './live-models.js';
import { PipelineRequests } from './pipeline-requests.js';
import { NO_WORKER, NO_WORKER_FOR_IT, ServedState } from './served-state.js';

/** Minimum duration of an action that ran: zero would be no demand, and no reason to load a model. */
const SHORTEST_NS = 1000;
const UNLOADED = 'the model has been unloaded';
const STEP_UNLOADED = 'a model of the pipeline has been unloaded';

/**
 * Drives the core with the real clock: requests come in from the frontends, actions go out to the workers, results come
 * back. All inputs of one turn of the event loop are one step of the core, like all events of one instant in the
 * simulator.
 */
export class LiveController implements SchedulingService, RequestKeeper {
  readonly core: Controller;
  private readonly served: ServedState;
  /** By index; null: none. */
  private readonly list: (ServedModel | null)[];
  private readonly models: LiveModels;
  private readonly answers: Answers;
  /** Null: no pipelines. */
  private pipelines: PipelineRequests | null = null;
  private readonly inFlight = new InFlight<Action>();
  private readonly departures: Departures;
  private readonly timer: WakeTimer;
  private stepIsDue = false;
  /** True if GPUs may be up, or run models, that `served` does not know of. */
  private placesChanged = true;
  private closed = false;
  private readonly hangWatch: HangWatch;
  private readonly failures: GpuFailures;

  constructor(private readonly options: LiveControllerOptions) {
    const { cluster, fleet, clock } = options;
    this.list = [...cluster.models];
    this.served = new ServedState(cluster.models);
    const missedWindow = options.missedWindow ?? LIVE_MISSED_WINDOW;
    this.answers = new Answers(this.list, (model) => this.whyNowhere(model), options.tenants);
    this.departures = new Departures(fleet.gpus, this.list, clock, (action) =>
      clock.time.soon(() => this.unsent(action)),
    );
    this.core = new Controller({
      cluster: cluster.spec,
      defaultSloNs: options.defaultSloNs,
      createPolicy: options.createPolicy,
      admission: options.admission,
      ...(options.classes === undefined ? {} : { classes: options.classes }),
      ...(options.tenants === undefined ? {} : { tenants: options.tenants }),
      missedWindow,
      observer: this.answers.seenBy(options.observer, (...failed) => this.pipelines?.failed(...failed)),
      port: {
        send: (action) => {
          this.inFlight.add(action);
          this.departures.add(action);
        },
        answer: (...answer) => this.answer(...answer),
        stepBegun: (...step) => this.pipelines?.stepBegun(...step),
        modelGone: (model) => {
          this.models.gone(model);
          this.answers.forgetModel(model);
          this.failures.forgetModel(model);
        },
        grew: (slots) => this.models.grew(slots),
      },
    });
    this.failures = new GpuFailures(this.core.cluster.up, fleet.gpus);
    this.models = new LiveModels(this.list, this.core, {
      fleet,
      journal: options.journal,
      events: options.events,
      state: this.served,
      specs: cluster.spec.models,
      changed: () => {
        this.placesChanged = true;
        this.stepSoon();
      },
    });
    this.timer = new WakeTimer(clock, (lateNs) => {
      options.events.wokeLate(lateNs);
      this.step();
    });
    // A GPU counts as gone until its worker has reported its models.
    for (let gpu = 0; gpu < cluster.spec.gpus; gpu++) this.tellDown(gpu);
    fleet.gpus.results = (results) => this.takeIn(results);
    fleet.begin({
      gpuUp: (gpu, present, kind) => this.gpuUp(gpu, present, kind),
      gpuDown: (gpu, reason) => this.gpuDown(gpu, reason),
      standsBy: (isIt) => this.standBy(isIt),
      yielded: () => this.tellPlaces(),
      modelFound: (index, model) => this.models.adopt(index, model),
      modelMoved: (index) => this.models.moved(index),
      worker: (name, up, what, asAsked) => options.events.worker(name, up, what, asAsked),
      workerLeft: (name) => options.events.workerLeft(name),
    });
    if (fleet.isStandby) this.standBy(true);
    this.hangWatch = new HangWatch(this.inFlight, this.answers, this.core.requests, {
      ...{ clock, gpus: fleet.gpus, hangNs: options.hangNs },
    });
    // The core learns in a step which GPUs are gone, and a standby has no other reason for one.
    this.stepSoon();
  }

  get state(): ServiceState {
    return this.served.current;
  }

  watch(changed: () => void): () => void {
    return this.served.watch(changed);
  }

  /** Model at an index, or null. */
  modelAt(index: number): ServedModel | null {
    return this.list[index] ?? null;
  }

  /**
   * Has every worker prepare a model, unless it has none of that name, and takes requests for it once they have. Resolves
   * with its index; rejects with the reason if none has it, or one has it and can't run it.
   */
  addModel(reference: ModelReference): Promise<number> {
    return this.models.add(reference);
  }

  /**
   * Stops taking requests for the model. Resolves when those it has are answered, no GPU holds it, and no worker has it
   * any more.
   */
  retireModel(index: number): Promise<void> {
    return this.models.retire(index);
  }

  /** Serves a pipeline of models that are there, in place of the `index`th. Returns the index for its requests. */
  putPipeline(index: number, pipeline: ServedPipeline): number {
    if (index >= MOST_PIPELINES) throw new Error(`a server has at most ${MOST_PIPELINES} pipelines`);
    const number = this.core.firstPipeline + index;
    const first = this.core.putPipeline(index, pipeline.spec);
    this.options.journal?.putPipeline(index, pipeline.spec);
    this.pipelines ??= new PipelineRequests(this.answers, this);
    this.pipelines.put(index, pipeline);
    this.models.announce(number, pipeline.model);
    const { name, steps } = pipeline.spec;
    for (const [s, { id }] of steps.entries())
      this.options.events.stepCame(first + s, `${name}.${id}`, number);
    return number;
  }

  /** Sets the number of requests of a later step from the output of the step request in `slot`, which is about to end. */
  setCount(slot: number, step: number, count: number): void {
    this.core.setCount(slot, step, count);
    this.options.journal?.setCount(slot, step, count);
  }

  /** Has the GPU's worker forget a kept tensor. */
  forget(gpu: number, key: number): void {
    this.options.fleet.gpus.forget(gpu, key);
  }

  traced(slot: number, trace: string | null | undefined): void {
    if (trace) this.options.events.traced(this.core.requests.id[slot], trace);
  }

  nowNs(): number {
    return this.options.clock.nowNs();
  }

  infer(request: InferenceRequest): void {
    const { core } = this;
    const { model } = request;
    const pipeline = core.isPipeline(model) ? model - core.firstPipeline : -1;
    const isServing = pipeline < 0 ? core.isServing(model) : core.isServingPipeline(pipeline);
    const counts = (isServing && pipeline >= 0 && this.pipelines?.countsOf(pipeline, request)) || null;
    const answer = this.closed
      ? tooLate()
      : !isServing
        ? notExecuted(OUTCOME_REJECTED, pipeline < 0 ? UNLOADED : STEP_UNLOADED)
        : (counts !== null && this.pipelines?.tooMany(pipeline, counts)) || null;
    if (answer !== null) {
      this.options.clock.time.soon(() => request.done(answer));
      return;
    }
    const slot = counts === null ? this.offer(request) : this.offerPipeline(pipeline, request, counts);
    this.traced(slot, request.trace);
    this.answers.begin(slot, request);
    request.keeper = this;
    request.slot = slot;
    this.stepSoon();
  }

  /** Call when the client of a request has gone. */
  cancel(request: InferenceRequest): void {
    const { slot = -1 } = request;
    if (this.answers.waiting[slot] !== request) return;
    this.core.cancel(slot);
    this.options.journal?.cancel(slot);
    this.stepSoon();
  }

  /**
   * Reports not ready from now on, and serves for `noticeNs`, or until another controller asks for the workers; then
   * refuses requests until all are answered, or for `timeoutNs`. `began`: called with the number waiting.
   */
  async drain(timeoutNs: number, noticeNs = 0, began: (requests: number) => void = () => {}): Promise<void> {
    const { time } = this.options.clock;
    if (noticeNs > 0) {
      this.served.announceEnd();
      this.options.fleet.yield();
      await pause(time, noticeNs / NS_PER_MS);
    }
    this.served.beginEnd();
    began(this.core.requests.size);
    const untilNs = this.nowNs() + timeoutNs;
    while (this.core.requests.size > 0 && this.nowNs() < untilNs) await pause(time, 10);
  }

  /** Ends it: unanswered requests get an error. The workers are notified. */
  async close(): Promise<void> {
    this.closed = true;
    this.served.beginEnd();
    this.hangWatch.close();
    this.timer.clear();
    const fleetClosed = this.options.fleet.close();
    this.answers.giveUp();
    await fleetClosed;
  }

  /** Reason for clients why no GPU in service may run the model or pipeline; '': one may. */
  private whyNowhere(model: number): string {
    if (this.core.cluster.up.count === 0) return NO_WORKER;
    if (!this.isBlocked(model)) return '';
    if (!this.served.blocked.has(model)) this.placesChanged = true;
    return NO_WORKER_FOR_IT;
  }

  /** Has all models looked at if a request has lifted what kept its model from every GPU, such as an SLO that is too short. */
  private offered(model: number): void {
    if (this.served.blocked.has(model) && !this.isBlocked(model)) this.placesChanged = true;
  }

  /** True if GPUs are in service, and none may run the model, or a step of the pipeline. */
  private isBlocked(model: number): boolean {
    const { core, pipelines } = this;
    const { cluster } = core;
    if (cluster.up.count === 0) return false;
    if (!core.isPipeline(model)) return cluster.isStranded(model);
    const steps = pipelines?.stepsOf(model - core.firstPipeline) ?? [];
    return steps.some((step) => variantsOf(step).every((variant) => cluster.isStranded(variant.model)));
  }

  private offer(request: InferenceRequest): number {
    const { model, sloNs, user, trace, arrivalNs = this.nowNs() } = request;
    const { requestClass = 0, tenant = 0, length = 0 } = request;
    this.options.journal?.offer(model, arrivalNs, sloNs, user, trace, requestClass, tenant, length);
    const slot = this.core.offer(model, arrivalNs, sloNs, user, requestClass, tenant, length);
    this.offered(model);
    return slot;
  }

  private offerPipeline(index: number, request: InferenceRequest, counts: Int32Array): number {
    const { sloNs, user, trace = null, arrivalNs = this.nowNs(), requestClass = 0, tenant = 0 } = request;
    this.options.journal?.offerPipeline(index, arrivalNs, sloNs, user, trace, requestClass, tenant, counts);
    const slot = this.core.offerPipeline(index, arrivalNs, sloNs, user, requestClass, tenant, counts);
    this.offered(request.model);
    this.pipelines?.begin(slot, index, request);
    return slot;
  }

  private answer(slot: number, outcome: Outcome, nowNs: number, action: Action | null): void {
    const end = this.pipelines?.end(slot, outcome);
    this.answers.add(this.core.requests, slot, outcome, nowNs, action, end);
  }

  private stepSoon(): void {
    if (this.stepIsDue) return;
    this.stepIsDue = true;
    this.options.clock.time.soon(() => {
      if (this.stepIsDue) this.step();
    });
  }

  private step(): void {
    this.stepIsDue = false;
    if (this.closed) return;
    const { clock, journal, fleet } = this.options;
    const nowNs = clock.nowNs();
    journal?.step(nowNs);
    this.core.step(nowNs);
    this.departures.leave(nowNs, this.answers.waiting);
    fleet.gpus.flush();
    this.answers.give();
    if (this.placesChanged) this.tellPlaces();
    this.options.events.stepped(nowNs, clock.nowNs() - nowNs);
    this.timer.set(this.core.nextWakeNs(nowNs));
  }

  private takeIn(results: readonly ResultMessage[]): void {
    for (const result of results) {
      const action = this.inFlight.take(result.gpu, result.id);
      if (action === null) {
        for (const key of result.kept ?? []) this.forget(result.gpu, key);
        continue;
      }
      if (result.error !== '') {
        this.options.events.deviceError(
          result.gpu,
          this.modelAt(action.model)?.spec.name ?? '',
          result.error,
        );
        if (action.kind === LOAD) this.answers.loadFailed(action.model, result.error);
      }
      const judged = this.failures.judge(action, result, this.answers.waiting);
      this.answers.takeIn(action, judged);
      this.pipelines?.takeIn(action, judged);
      this.finish(action, judged.status, measuredBeginNs(action, judged), judged.endNs);
      this.options.events.ran(action, judged);
    }
    this.step();
  }

  private unsent(action: Action): void {
    if (!this.closed) this.takeIn([unsentResult(action, this.options.clock.nowNs())]);
  }

  private finish(action: Action, status: number, beginNs: number, endNs: number): void {
    action.status = status;
    action.beginNs = beginNs;
    action.endNs = status === STATUS_OK ? Math.max(endNs, beginNs + SHORTEST_NS) : endNs;
    action.clock = 1;
    if (action.kind === LOAD && status === STATUS_OK) this.models.loaded(action, action.endNs - beginNs);
    this.core.result(action);
    this.options.journal?.result(action);
  }

  private gpuUp(gpu: number, present: readonly number[], kind: number): void {
    const { fleet, cluster, journal, events } = this.options;
    const known = present.filter((model) => this.modelAt(model) !== null);
    const { kept, excess } = fitting(known, cluster.spec, kind);
    for (const model of excess) fleet.gpus.post(gpu, unloadMessage(fleet.gpus.localOf(gpu), model));
    this.failures.cameUp(gpu);
    this.core.gpuUp(gpu, kept, kind);
    journal?.gpuUp(gpu, kept, kind);
    events.gpuUp(gpu);
    this.placesChanged = true;
    this.stepSoon();
  }

  private gpuDown(gpu: number, reason: string): void {
    const nowNs = this.options.clock.nowNs();
    for (const action of this.inFlight.takeAll(gpu)) this.finish(action, STATUS_WORKER_LOST, nowNs, nowNs);
    this.tellDown(gpu);
    this.options.events.gpuDown(gpu, reason);
    this.placesChanged = true;
    this.step();
  }

  /** Requests waiting for an answer can only get it from the other controller. */
  private standBy(isIt: boolean): void {
    this.tellPlaces();
    if (isIt) this.answers.standBy();
    this.options.events.standsBy(isIt);
  }

  private tellPlaces(): void {
    this.placesChanged = false;
    this.served.setWorkers(this.options.fleet, (model) => this.isBlocked(model));
  }

  private tellDown(gpu: number): void {
    this.core.gpuDown(gpu);
    this.options.journal?.gpuDown(gpu);
  }
}

/**
 * Start of an action, for estimates. Requests that failed together run again one by one, which says nothing about the
 * duration of a batch: no client may distort estimates this way.
 */
function measuredBeginNs(
  { expectedDurationNs }: Action,
  { beginNs, endNs, inputErrors }: ResultMessage,
): number {
  return inputErrors === undefined ? beginNs : Math.max(beginNs, endNs - expectedDurationNs);
}

/** Longest delay of Node's timers. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * One timer for the next time at which the core wants to be called. It never fires early; it fires up to 1 ms late,
 * which costs less than spinning on the controller's thread would cost everything else.
 */
export class WakeTimer {
  private timer: Timer | null = null;
  private atNs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Pick<Clock, 'nowNs' | 'time'>,
    /** Called with the delay. */
    private readonly wake: (lateNs: number) => void,
  ) {}

  /** Replaces the pending time; Infinity: none. */
  set(atNs: number): void {
    if (atNs === this.atNs) return;
    this.clear();
    this.atNs = atNs;
    if (atNs !== Number.POSITIVE_INFINITY) this.arm();
  }

  clear(): void {
    this.timer?.cancel();
    this.timer = null;
    this.atNs = Number.POSITIVE_INFINITY;
  }

  private arm(): void {
    const delayMs = Math.ceil((this.atNs - this.clock.nowNs()) / NS_PER_MS);
    this.timer = this.clock.time.after(Math.min(Math.max(delayMs, 0), LONGEST_MS), this.fire);
  }

  private readonly fire = (): void => {
    const lateNs = this.clock.nowNs() - this.atNs;
    if (lateNs < 0) {
      this.arm();
      return;
    }
    this.timer = null;
    this.atNs = Number.POSITIVE_INFINITY;
    this.wake(lateNs);
  };
}
