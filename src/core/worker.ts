import { grown } from '../base/grown.js';
import { invariant } from '../base/invariant.js';
import {
  ABORT,
  type Action,
  INFER,
  LANE_EXEC,
  LANE_WEIGHTS,
  type Lane,
  LOAD,
  STATUS_ABORTED,
  STATUS_INFER_TOO_LATE,
  STATUS_INFER_WEIGHTS_CHANGED,
  STATUS_INSUFFICIENT_CACHE,
  STATUS_LOAD_TOO_LATE,
  STATUS_LOAD_WEIGHTS_CHANGED,
  STATUS_OK,
  STATUS_WEIGHTS_MISSING,
  UNLOAD,
} from './action.js';
import type { DevicePort } from './device-port.js';
import { LaneQueue } from './lane-queue.js';
import type { ModelSpec } from './model.js';
import { PageCache } from './page-cache.js';

export interface WorkerOptions {
  readonly models: readonly ModelSpec[];
  /** Pages of this GPU's weights cache. */
  readonly pages: number;
  /** True if LOAD and INFER share one lane, because the device runs one thing at a time. */
  readonly oneLane?: boolean;
  readonly device: DevicePort;
  /** Returns the action with `status`, `beginNs` and `endNs` in the worker's time. */
  readonly sendResult: (action: Action, nowNs: number) => void;
}

/**
 * One GPU's worker as a pure state machine: lanes that run one action at a time, in order of earliest start and within
 * their windows, and the weights actually present (Clockwork, OSDI 2020, §5.2). It makes no choices: an action runs in
 * its window or is answered with the reason why not.
 */
export class Worker {
  private readonly exec = new LaneQueue();
  private readonly weights: LaneQueue;
  private readonly oneLane: boolean;
  /** INFERs waiting for INPUT, and those waiting for OUTPUT, in order. */
  private readonly inputs = new LaneQueue();
  private readonly outputs: Action[] = [];
  private readonly aborts: Action[] = [];
  private executing: Action | null = null;
  private loading: Action | null = null;
  private copyingIn: Action | null = null;
  private copyingInLatestNs = 0;
  private readonly cache: PageCache;
  private readonly held: WeightsTable;
  /** Generation of the weights that the running action started with. */
  private executingGeneration = 0;
  private loadingGeneration = 0;
  private readonly models: ModelSpec[];
  private readonly device: DevicePort;
  private readonly sendResult: (action: Action, nowNs: number) => void;

  constructor(options: WorkerOptions) {
    this.models = [...options.models];
    this.device = options.device;
    this.sendResult = options.sendResult;
    this.oneLane = options.oneLane ?? false;
    this.weights = this.oneLane ? this.exec : new LaneQueue();
    this.cache = new PageCache(options.pages);
    this.held = new WeightsTable(options.models.length);
  }

  /** Free pages, for checks and for reports to a controller. */
  get freePages(): number {
    return this.cache.free;
  }

  /** Replaces a model that is not in use; its remaining weights are dropped. */
  putModel(model: number, spec: ModelSpec): void {
    this.held.reach(model + 1);
    if (this.held.takesPages(model)) {
      this.drop(model);
      this.device.unload(model);
    }
    this.models[model] = spec;
  }

  /** Actions in progress on the device. */
  get running(): readonly Action[] {
    return [this.executing, this.loading].filter((action) => action !== null);
  }

  isPresent(model: number): boolean {
    return this.held.isPresent(model);
  }

  /** Takes an action, with its window in the worker's time. Call `step` afterwards. */
  receive(action: Action, earliestNs: number, latestNs: number): void {
    if (action.kind === ABORT) this.aborts.push(action);
    else if (action.kind !== INFER) this.weights.push(action, earliestNs, latestNs);
    else if (this.device.copies) this.inputs.push(action, earliestNs, latestNs);
    else this.exec.push(action, earliestNs, latestNs);
  }

  /**
   * Reports that a lane's running action is done; `clock` is the GPU clock during it, `status` the device's result.
   * Call `step` afterwards.
   */
  finished(lane: Lane, nowNs: number, clock: number, status: number = STATUS_OK): void {
    if (lane === LANE_EXEC) this.finishExec(nowNs, clock, status);
    else this.finishLoad(nowNs, status);
  }

  /** Reports that the running INPUT copy is done: its action may execute. Call `step` afterwards. */
  copiedIn(): void {
    const action = this.copyingIn;
    invariant(action !== null, 'an INPUT copy ends once');
    this.copyingIn = null;
    this.exec.push(action, 0, this.copyingInLatestNs);
  }

  /** Reports that the running OUTPUT copy is done: its action is answered. */
  copiedOut(nowNs: number): void {
    const action = this.outputs.shift();
    invariant(action !== undefined, 'an OUTPUT copy ends once');
    this.sendResult(action, nowNs);
    if (this.outputs.length > 0) this.device.startOutput(this.outputs[0], nowNs);
  }

  /** Drops every action that waits for its lane, unanswered. Running ones continue. */
  dropWaiting(): void {
    this.exec.clear();
    this.weights.clear();
    this.inputs.clear();
  }

  /** Starts whatever may start now: EXEC before WEIGHTS, then INPUT. */
  step(nowNs: number): void {
    while (this.aborts.length > 0) this.abort(this.aborts.shift() as Action, nowNs);
    if (this.oneLane) this.stepOnlyLane(nowNs);
    else {
      this.stepExec(nowNs);
      this.stepWeights(nowNs);
    }
    if (this.device.copies) {
      this.stepInput(nowNs);
    }
  }

  /** Time at which the head of an idle lane may start; Infinity: nothing waits for the clock. */
  nextWakeNs(): number {
    let wakeNs = Number.POSITIVE_INFINITY;
    const busy = this.executing !== null || this.loading !== null;
    if (this.oneLane ? !busy : this.executing === null) wakeNs = Math.min(wakeNs, this.exec.headEarliestNs);
    if (this.oneLane ? !busy : this.loading === null) wakeNs = Math.min(wakeNs, this.weights.headEarliestNs);
    if (this.copyingIn === null) wakeNs = Math.min(wakeNs, this.inputs.headEarliestNs);
    return wakeNs;
  }

  private stepExec(nowNs: number): void {
    while (this.executing === null && this.exec.headEarliestNs <= nowNs) this.startInfer(nowNs);
  }

  private stepWeights(nowNs: number): void {
    while (this.loading === null && this.weights.headEarliestNs <= nowNs) this.startWeights(nowNs);
  }

  private stepOnlyLane(nowNs: number): void {
    const { exec } = this;
    while (this.executing === null && this.loading === null && exec.headEarliestNs <= nowNs) {
      if (exec.head.kind === INFER) this.startInfer(nowNs);
      else this.startWeights(nowNs);
    }
  }

  /** Answers every waiting INFER and asks the device to stop the running one. An INPUT copy in progress continues. */
  private abort(action: Action, nowNs: number): void {
    this.refuseAll(this.inputs, nowNs);
    this.refuseAll(this.exec, nowNs);
    if (this.executing !== null) this.device.abort?.(nowNs);
    this.refuse(action, STATUS_OK, nowNs);
  }

  private refuseAll(queue: LaneQueue, nowNs: number): void {
    for (const action of queue.removeInfers()) {
      this.refuse(action, STATUS_ABORTED, nowNs);
    }
  }

  private startInfer(nowNs: number): void {
    const latestNs = this.exec.headLatestNs;
    const action = this.exec.shift();
    if (nowNs > latestNs) this.refuse(action, STATUS_INFER_TOO_LATE, nowNs);
    else if (!this.held.isPresent(action.model)) this.refuse(action, STATUS_WEIGHTS_MISSING, nowNs);
    else {
      this.executing = action;
      this.executingGeneration = this.held.generation(action.model);
      action.beginNs = nowNs;
      this.device.startExec(action, nowNs);
    }
  }

  private startWeights(nowNs: number): void {
    const latestNs = this.weights.headLatestNs;
    const action = this.weights.shift();
    if (action.kind === UNLOAD) this.unload(action, nowNs);
    else if (nowNs > latestNs) this.refuse(action, STATUS_LOAD_TOO_LATE, nowNs);
    else this.startLoad(action, nowNs);
  }

  private stepInput(nowNs: number): void {
    while (this.copyingIn === null && this.inputs.headEarliestNs <= nowNs) {
      const latestNs = this.inputs.headLatestNs;
      const action = this.inputs.shift();
      if (nowNs > latestNs) this.refuse(action, STATUS_INFER_TOO_LATE, nowNs);
      else {
        this.copyingIn = action;
        this.copyingInLatestNs = latestNs;
        this.device.startInput(action, nowNs);
      }
    }
  }

  private startLoad(action: Action, nowNs: number): void {
    const { model } = action;
    const pages = this.models[model].pages;
    // Reloading weights replaces them: their pages count once.
    this.drop(model);
    if (pages > this.cache.free) {
      this.refuse(action, STATUS_INSUFFICIENT_CACHE, nowNs);
      return;
    }
    this.cache.take(pages);
    this.held.arrive(model);
    this.loading = action;
    this.loadingGeneration = this.held.generation(model);
    action.beginNs = nowNs;
    this.device.startLoad(action, nowNs);
  }

  private unload(action: Action, nowNs: number): void {
    this.drop(action.model);
    this.device.unload(action.model);
    this.refuse(action, STATUS_OK, nowNs);
  }

  private finishExec(nowNs: number, clock: number, status: number): void {
    const action = this.executing;
    invariant(action !== null, 'EXEC ends once');
    this.executing = null;
    const unchanged = this.held.generation(action.model) === this.executingGeneration;
    action.status = unchanged || status !== STATUS_OK ? status : STATUS_INFER_WEIGHTS_CHANGED;
    // A device stopped before the start that it announced never started.
    action.beginNs = Math.min(action.beginNs, nowNs);
    action.endNs = nowNs;
    action.clock = clock;
    if (!this.device.copies || status !== STATUS_OK) {
      this.sendResult(action, nowNs);
      return;
    }
    this.outputs.push(action);
    if (this.outputs.length === 1) this.device.startOutput(action, nowNs);
  }

  private finishLoad(nowNs: number, status: number): void {
    const action = this.loading;
    invariant(action !== null && action.kind === LOAD, 'LOAD ends once');
    this.loading = null;
    const unchanged = this.held.generation(action.model) === this.loadingGeneration;
    if (unchanged && status === STATUS_OK) this.held.complete(action.model);
    else if (unchanged) this.drop(action.model);
    action.status = unchanged || status !== STATUS_OK ? status : STATUS_LOAD_WEIGHTS_CHANGED;
    action.endNs = nowNs;
    this.sendResult(action, nowNs);
  }

  private drop(model: number): void {
    if (!this.held.takesPages(model)) return;
    this.cache.release(this.models[model].pages);
    this.held.drop(model);
  }

  /** Answers an action that takes no lane time. */
  private refuse(action: Action, status: number, nowNs: number): void {
    action.status = status;
    action.beginNs = nowNs;
    action.endNs = nowNs;
    action.clock = 1;
    this.sendResult(action, nowNs);
  }
}

/** Lane that an action runs on. */
export function laneOf(action: Pick<Action, 'kind'>): Lane {
  return action.kind === INFER ? LANE_EXEC : LANE_WEIGHTS;
}

/** States of a model's weights on one GPU, as the worker knows them. */
const ABSENT = 0;
const ARRIVING = 1;
const PRESENT = 2;
const STATE_BITS = 2;
const STATE_MASK = (1 << STATE_BITS) - 1;

/**
 * Weights on a GPU, with a generation for each that grows whenever they leave, so that code that remembers the
 * generation can later check for a change. Both share one number per model, because they are always read together.
 */
class WeightsTable {
  private cells: Int32Array;

  constructor(models: number) {
    this.cells = new Int32Array(models);
  }

  /** Grows the table to at least this many models. */
  reach(models: number): void {
    if (models <= this.cells.length) return;
    this.cells = grown(this.cells, 2 * models);
  }

  /** Complete and ready for INFER. */
  isPresent(model: number): boolean {
    return (this.cells[model] & STATE_MASK) === PRESENT;
  }

  /** Complete or on their way: they take pages. */
  takesPages(model: number): boolean {
    return (this.cells[model] & STATE_MASK) !== ABSENT;
  }

  generation(model: number): number {
    return this.cells[model] >>> STATE_BITS;
  }

  /** Records that a LOAD began. */
  arrive(model: number): void {
    this.cells[model] = (this.cells[model] & ~STATE_MASK) | ARRIVING;
  }

  /** Records that the LOAD ended. */
  complete(model: number): void {
    this.cells[model] = (this.cells[model] & ~STATE_MASK) | PRESENT;
  }

  /** Drops the weights. */
  drop(model: number): void {
    this.cells[model] = (((this.cells[model] >>> STATE_BITS) + 1) << STATE_BITS) | ABSENT;
  }
}
