import { invariant } from '../base/invariant.js';
import { type Random, stream } from '../base/random/streams.js';
import { type Action, LANE_EXEC, LANE_WEIGHTS, STATUS_WORKER_LOST } from '../core/action.js';
import type { ArrivalSource } from '../core/arrivals.js';
import { Controller } from '../core/controller.js';
import type { ModelSpec } from '../core/model.js';
import { REQUEST_FREE } from '../core/request.js';
import { Worker } from '../core/worker.js';
import { Checker } from './checker.js';
import type { SimDevice } from './device.js';
import { devicesOf } from './devices.js';
import {
  CLIENT_LEAVES,
  CLOCK_CHANGE,
  CONDITIONS_CHANGE,
  DELIVER_ACTION,
  DELIVER_RESULT,
  EventQueue,
  EXEC_END,
  GPU_FAILS,
  GPU_READY,
  GPU_RETURNS,
  INPUT_END,
  LOAD_END,
  OUTPUT_END,
  SCALE,
  type SimEvent,
  WORKER_WAKE,
} from './event-queue.js';
import { type DrawnPipeline, drawCounts } from './fan-out.js';
import { Fleet, type FleetOptions, lossOf } from './fleet.js';
import { Network, NO_DELAY } from './network.js';
import { schedulePlanned } from './planned-events.js';
import type { ConditionsChange, SimulatorOptions } from './simulator-options.js';
import { trueModels } from './true-models.js';

/** Number of arrivals between calls of the progress callback. */
const PROGRESS_ARRIVALS = 1 << 16;

/**
 * Discrete-event simulation of a cluster: takes the next event, passes it to its worker or the controller, and lets
 * them run until that instant is quiet. The controller and workers are the same classes that serve in production; only
 * time, the network and the GPUs are simulated.
 *
 * Order within an instant: ends of work (GPUs by id, EXEC before WEIGHTS) and deliveries, arrivals, controller;
 * repeated while that causes anything at the same instant.
 */
export class Simulator {
  readonly controller: Controller;
  readonly workers: Worker[];
  /** Virtual time. */
  nowNs = 0;

  private readonly events = new EventQueue();
  private readonly devices: readonly SimDevice[];
  /** True models, which may differ from their profiles. */
  private readonly models: ModelSpec[];
  private readonly network: Network;
  private readonly changes: readonly ConditionsChange[];
  private readonly source: ArrivalSource;
  /** Number of models in the source; those that follow are pipelines. */
  private readonly sourceModels: number;
  private readonly pipelines: readonly DrawnPipeline[];
  /** Draws the requests of steps. */
  private readonly branches: Random;
  /** By worker: offset of its clock from the true time. */
  private readonly offsetNs: Float64Array;
  /** By worker: time of its next wake-up; Infinity: none. */
  private readonly wakeNs: Float64Array;
  private controllerWakeNs = 0;
  /** True if the source ran out within this instant, which continues once it has been refilled. */
  private isHalted = false;
  /** Number of requests passed to the controller so far. */
  arrivals = 0;
  private readonly checker: Checker | null;
  /** Null: the GPUs are fixed. */
  private readonly fleet: Fleet | null;
  private readonly newWorker: (gpu: number) => Worker;
  /** By GPU: actions sent without a result; null if no GPU fails. */
  private readonly unanswered: readonly Set<Action>[] | null;
  /** Actions sent by the controller in this step; the array never shrinks, the number delimits it. */
  private readonly outbox: Action[] = [];
  private outboxCount = 0;

  constructor(options: SimulatorOptions) {
    const { models, gpus, pages, kinds, seed, oneLane = false } = options;
    const { spareModels = 0, spareBatch = 1, clockOffsetNs: mostNs = 0, defaultSloNs } = options;
    this.source = options.source;
    this.pipelines = options.pipelines ?? [];
    this.sourceModels = this.pipelines.length === 0 ? Number.POSITIVE_INFINITY : models.length;
    this.branches = stream(seed, 'pipelines');
    this.network = new Network(gpus, options.network ?? NO_DELAY, stream(seed, 'network'));
    const offsets = stream(seed, 'clock-offset');
    this.offsetNs = Float64Array.from({ length: gpus }, () => Math.round((2 * offsets() - 1) * mostNs));
    this.wakeNs = new Float64Array(gpus).fill(Number.POSITIVE_INFINITY);
    this.controller = new Controller({
      cluster: {
        ...{ models, spareModels, spareBatch, gpus, pages, oneLane, padding: options.padding ?? 'batch' },
        ...(kinds === undefined ? {} : { kinds }),
      },
      admission: options.admission ?? 'none',
      ...(options.missedWindow === undefined ? {} : { missedWindow: options.missedWindow }),
      ...(options.classes === undefined ? {} : { classes: options.classes }),
      ...{ defaultSloNs, createPolicy: options.createPolicy, tenants: options.tenants },
      pipelines: this.pipelines,
      port: {
        send: (action) => this.send(action),
        answer: (slot, _outcome, nowNs) => this.source.answered?.(this.controller.requests.user[slot], nowNs),
      },
      ...(options.observer === undefined ? {} : { observer: options.observer }),
    });
    this.models = [...trueModels(models, options.noise?.profile ?? 0, seed, options.noise?.scale)];
    const { pages: caches } = this.controller.cluster;
    this.devices = devicesOf(options, this.controller.cluster, this.models, this.events, this);
    const sendResult = (action: Action) => this.sendResult(action);
    this.newWorker = (gpu) =>
      new Worker({ models, pages: caches[gpu].capacity, oneLane, device: this.devices[gpu], sendResult });
    this.workers = this.devices.map((_, gpu) => this.newWorker(gpu));
    this.changes = options.changes ?? [];
    schedulePlanned(this.events, options);
    const canFail = (options.fleet?.failures ?? []).length > 0;
    this.unanswered = canFail ? this.workers.map(() => new Set<Action>()) : null;
    this.fleet = options.fleet === undefined ? null : this.openFleet(options.fleet);
    this.checker = options.checks ? new Checker(this.controller, this.workers) : null;
  }

  /** Puts a model into an empty slot of the controller's; it takes the times in its profile. Not with `spreads`. */
  putModel(model: number, spec: ModelSpec): void {
    this.models[model] = spec;
    for (const worker of this.workers) worker.putModel(model, spec);
    this.controller.putModel(model, spec);
  }

  /** Time of the next event; Infinity: every request is answered, and nothing is left to happen. */
  get nextNs(): number {
    return Math.min(this.source.timeNs, this.events.nextNs, this.controllerWakeNs);
  }

  /** Runs until every request is answered and nothing is left to happen; otherwise like `advance`. */
  run(onProgress?: (nowNs: number, arrivals: number) => void | Promise<void>): Promise<void> {
    return this.advance(Number.MAX_VALUE, onProgress);
  }

  /**
   * Runs all events up to and including `untilNs`. The result does not depend on how a run is divided. Calls and awaits
   * `onProgress` now and then: a caller that must stay responsive can let the event loop turn there.
   */
  async advance(
    untilNs: number,
    onProgress?: (nowNs: number, arrivals: number) => void | Promise<void>,
  ): Promise<void> {
    while (!this.runUntilPause(untilNs)) {
      if (this.isStarved) await this.source.refill?.();
      await onProgress?.(this.nowNs, this.arrivals);
    }
  }

  /** True if no event is left by then; false if the source must be refilled, or progress is due. */
  private runUntilPause(untilNs: number): boolean {
    const { source, events, controller, checker, sourceModels } = this;
    const pauseAt = this.arrivals + PROGRESS_ARRIVALS;
    for (;;) {
      if (this.isStarved || this.arrivals >= pauseAt) return false;
      const nextNs = Math.min(source.timeNs, events.nextNs, this.controllerWakeNs);
      const nowNs = this.isHalted ? this.nowNs : nextNs;
      if (nowNs > untilNs) return true;
      invariant(nowNs >= this.nowNs, 'virtual time does not run backwards');
      this.nowNs = nowNs;
      do {
        while (events.nextNs <= nowNs) this.handle(events.pop());
        // A starved source does not know its next arrival.
        while (source.timeNs <= nowNs && !this.isStarved) {
          const { model, timeNs, sloNs, user, requestClass, tenant, length = 0, patienceNs } = source;
          const slot =
            model < sourceModels
              ? controller.offer(model, timeNs, sloNs, user, requestClass, tenant, length)
              : this.offerPipeline(model - sourceModels);
          if (patienceNs !== undefined) this.waitFor(slot, timeNs + patienceNs);
          this.arrivals++;
          source.advance();
        }
        // The source may have more requests of this instant, which the controller must see in the same step.
        this.isHalted = this.isStarved;
        if (this.isHalted) return false;
        if (controller.hasInput || this.controllerWakeNs <= nowNs) {
          controller.step(nowNs);
          this.deliverOutbox();
          this.fleet?.letGo(nowNs);
          this.controllerWakeNs = controller.nextWakeNs(nowNs, Math.min(source.timeNs, events.nextNs));
        }
      } while (events.nextNs <= nowNs || controller.hasInput || (source.timeNs <= nowNs && !this.isStarved));
      checker?.check();
    }
  }

  private offerPipeline(pipeline: number): number {
    const { timeNs, sloNs, user, requestClass = 0, tenant = 0, length } = this.source;
    const counts = drawCounts(this.pipelines[pipeline], this.branches, length);
    return this.controller.offerPipeline(pipeline, timeNs, sloNs, user, requestClass, tenant, counts);
  }

  private get isStarved(): boolean {
    return this.source.starved === true;
  }

  private handle(event: SimEvent): void {
    const { gpu, kind, action } = event;
    this.events.recycle(event);
    const worker = this.workers[gpu];
    const localNs = this.nowNs + this.offsetNs[gpu];
    switch (kind) {
      case EXEC_END:
        if (!this.devices[gpu].isExecEnd(event.execEnd)) return;
        worker.finished(LANE_EXEC, localNs, this.devices[gpu].execClock, this.devices[gpu].execStatus);
        break;
      case LOAD_END:
        worker.finished(LANE_WEIGHTS, localNs, 1);
        break;
      case INPUT_END:
        worker.copiedIn();
        break;
      case OUTPUT_END:
        worker.copiedOut(localNs);
        return;
      case WORKER_WAKE:
        this.wakeNs[gpu] = Number.POSITIVE_INFINITY;
        break;
      case CLOCK_CHANGE:
        this.devices[gpu].clockFactor = event.clockFactor;
        return;
      case CONDITIONS_CHANGE:
        this.changeConditions(this.changes[event.change]);
        return;
      case DELIVER_ACTION:
        this.deliver(action as Action);
        return;
      case DELIVER_RESULT:
        this.returned(action as Action);
        return;
      case CLIENT_LEAVES:
        this.clientLeaves(event);
        return;
      case GPU_READY:
        this.gpuReady(gpu, event.order);
        return;
      case GPU_FAILS:
        this.gpuFails(gpu);
        return;
      case GPU_RETURNS:
        this.fleet?.recovered(gpu, this.nowNs);
        this.controller.gpuUp(gpu, []);
        return;
      case SCALE:
        this.scheduleScaling(this.fleet?.scale(this.nowNs) ?? Number.POSITIVE_INFINITY);
        return;
    }
    this.stepWorker(gpu);
  }

  /** Limits how long the client of a request waits. */
  private waitFor(slot: number, untilNs: number): void {
    if (untilNs <= this.nowNs) this.controller.cancel(slot);
    else if (untilNs < Number.POSITIVE_INFINITY) {
      const event = this.events.schedule(untilNs, CLIENT_LEAVES, 0, null);
      event.request = this.controller.requests.id[slot];
      event.slot = slot;
    }
  }

  private clientLeaves({ request, slot }: SimEvent): void {
    const { id, state } = this.controller.requests;
    if (id[slot] === request && state[slot] !== REQUEST_FREE) this.controller.cancel(slot);
  }

  private changeConditions({ noise, network }: ConditionsChange): void {
    for (const device of this.devices) device.noise = noise;
    this.network.change(network);
  }

  private stepWorker(gpu: number): void {
    const worker = this.workers[gpu];
    worker.step(this.nowNs + this.offsetNs[gpu]);
    const wakeNs = worker.nextWakeNs() - this.offsetNs[gpu];
    if (wakeNs < this.wakeNs[gpu]) {
      this.wakeNs[gpu] = wakeNs;
      this.events.schedule(wakeNs, WORKER_WAKE, gpu, null);
    }
  }

  private returned(action: Action): void {
    this.fleet?.returned(action.gpu);
    this.unanswered?.[action.gpu].delete(action);
    this.controller.result(action);
  }

  private openFleet(options: FleetOptions): Fleet {
    const { controller, events } = this;
    const fleet = new Fleet(options, {
      start: (gpu, readyNs, order) => {
        events.schedule(readyNs, GPU_READY, gpu, null).order = order;
      },
      drain: (gpu) => controller.gpuDrains(gpu),
      stop: (gpu) => controller.gpuDown(gpu),
      lossOf: (gpu) => lossOf(controller.cluster, gpu),
    });
    for (let gpu = 0; gpu < controller.cluster.gpus; gpu++) if (fleet.isOff(gpu)) controller.gpuDown(gpu);
    this.scheduleScaling(fleet.firstNs);
    return fleet;
  }

  /** Schedules a decision, which comes last in its instant. */
  private scheduleScaling(atNs: number): void {
    if (atNs < Number.POSITIVE_INFINITY) this.events.schedule(atNs, SCALE, this.devices.length - 1, null);
  }

  private gpuReady(gpu: number, order: number): void {
    if (this.fleet?.ready(gpu, order, this.nowNs) !== true) return;
    this.workers[gpu] = this.newWorker(gpu);
    this.controller.gpuUp(gpu, []);
  }

  /** Loses a GPU with its weights and all that it was sent. */
  private gpuFails(gpu: number): void {
    this.events.dropWorker(gpu);
    this.wakeNs[gpu] = Number.POSITIVE_INFINITY;
    const lost = [...(this.unanswered?.[gpu] ?? [])].sort((a, b) => a.id - b.id);
    for (const action of lost) {
      action.status = STATUS_WORKER_LOST;
      action.beginNs = this.nowNs;
      action.endNs = this.nowNs;
      action.clock = 1;
      this.returned(action);
    }
    this.fleet?.failed(gpu, this.nowNs);
    this.workers[gpu] = this.newWorker(gpu);
    this.controller.gpuDown(gpu);
  }

  private send(action: Action): void {
    const { network, nowNs } = this;
    this.fleet?.sent(action.gpu);
    this.unanswered?.[action.gpu].add(action);
    if (!network.delays) this.outbox[this.outboxCount++] = action;
    else this.events.schedule(network.toWorker(action.gpu, nowNs), DELIVER_ACTION, action.gpu, action);
  }

  /** Without delay, workers get messages as soon as the controller has finished its step. */
  private deliverOutbox(): void {
    for (let i = 0; i < this.outboxCount; i++) this.deliver(this.outbox[i]);
    this.outboxCount = 0;
  }

  private deliver(action: Action): void {
    this.workers[action.gpu].receive(action, action.earliestNs, action.latestNs);
    this.stepWorker(action.gpu);
  }

  private sendResult(action: Action): void {
    if (!this.network.delays) this.returned(action);
    else
      this.events.schedule(
        this.network.toController(action.gpu, this.nowNs),
        DELIVER_RESULT,
        action.gpu,
        action,
      );
  }
}
