import { invariant } from '../../../base/invariant.js';
import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Time, Timer } from '../../../base/world/time.js';
import { Backoff } from '../../backoff.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList, ModelReference } from '../../model-list.js';
import type { Machine } from '../../worker/machine.js';
import { ClockSync } from './clock-sync.js';

/** Driver of a worker, as one controller sees it. */
export type Driving = 'none' | 'this' | 'another';

/** Events of a worker for its controller. Never called from within a call of the controller's own. */
export interface WorkerEvents {
  /** The worker can be reached and has described itself; another controller may drive it. Only for remote workers. */
  met(description: WorkerDescription): void;
  /** The worker's driver has changed; `yields`: it leaves the worker to any that asks. Only for remote workers. */
  driven(by: Driving, yields?: boolean): void;
  /** This controller drives the worker, which is idle and takes actions. Also after each reconnection. */
  up(description: WorkerDescription, state: WorkerState): void;
  /** Times are the controller's. Actions sent before the last `up` are never answered. */
  results(results: readonly ResultMessage[]): void;
  /**
   * Nothing sent will be answered any more, until the next `up`. `gpu`: only for that one; null: the whole worker.
   */
  down(reason: string, gpu: number | null): void;
}

/** Name of the worker in the controller's own process. */
export const LOCAL = 'local';

/** A controller's connection with one worker, in this process or across a network. */
export interface WorkerLink {
  /** Name in logs and metrics: `LOCAL` or HOST:PORT. */
  readonly name: string;
  /** Starts to connect, and to reconnect when needed; `nowNs` is the controller's clock. */
  start(events: WorkerEvents, nowNs: () => number): void;
  /** Takes actions, whose inputs are for it alone. Times are the controller's. Must be up. */
  send(actions: readonly ActionMessage[]): void;
  /** No action needs these kept tensors any more. Absent: the worker keeps none. */
  forget?(keys: readonly number[]): void;
  /** Like `Machine`; also rejects if the worker is not up or goes down meanwhile. */
  listModels(name: string | null, config?: string): Promise<ModelList>;
  addModel(index: number, reference: ModelReference): Promise<ServedModel | null>;
  dropModel(index: number): Promise<void>;
  /** Gives up a worker, or one of its GPUs: reports `down`, then tries to bring it `up` again. */
  restart(reason: string, gpu: number | null): void;
  /** Drives on until another controller asks for the worker. Absent: there is no other. */
  yield?(): void;
  /** Asks for all workers of a driver that yields them. Absent: there is no other. */
  takeOver?(): void;
  /** Resolves when the worker was notified; emits no event afterwards. */
  close(): Promise<void>;
}

/** A worker went down before it could answer: it is asked again when it is back, or left alone. */
export class WorkerGone extends Error {
  constructor() {
    super('the worker is not connected any more');
  }
}

/** A machine as driven by a controller: in this process, or at the other end of a stream. */
export type DrivenMachine = Pick<
  Machine,
  'description' | 'attach' | 'submit' | 'quiesce' | 'listModels' | 'addModel' | 'dropModel'
> & { forget?(keys: readonly number[]): void };

interface Driven {
  readonly machine: DrivenMachine;
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
}

/**
 * Link to a machine, which it drives from the time it can be reached until it is lost: makes it idle, reports it up,
 * passes actions and results and translates their times. When a GPU dies, `down` is reported at once and the others go
 * on working; a moment later the whole machine goes down, is made idle, which restarts the GPU, and comes up again. So
 * a GPU that keeps dying interrupts the others at most once a minute.
 */
export abstract class MachineLink implements WorkerLink {
  abstract readonly name: string;
  /** Null: not started, or closed. */
  protected events: WorkerEvents | null = null;
  /** Clock of the controller. */
  protected nowNs: () => number = () => 0;
  /** Null: no machine is driven at present. */
  private driven: Driven | null = null;
  private up = false;
  private readonly revivals = new Backoff(FIRST_REVIVAL_MS, LONGEST_REVIVAL_MS);
  private revival: Timer | null = null;
  /** Rejects pending requests about the machine's models. */
  private readonly asked = new Set<(reason: Error) => void>();

  constructor(protected readonly time: Time) {}

  abstract close(): Promise<void>;

  /** Tells the operator of a problem. */
  protected abstract complain(what: string): void;

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.events === null, 'a worker is started once');
    this.events = events;
    this.nowNs = nowNs;
  }

  send(actions: readonly ActionMessage[]): void {
    const { driven } = this;
    invariant(this.up && driven !== null, 'actions go to a worker that is up');
    const { offsetNs } = driven.clock;
    driven.machine.submit(actions.map((action) => toMachineTime(action, offsetNs)));
  }

  forget(keys: readonly number[]): void {
    this.driven?.machine.forget?.(keys);
  }

  listModels(name: string | null, config?: string): Promise<ModelList> {
    return this.ask((machine) => machine.listModels(name, config));
  }

  addModel(index: number, reference: ModelReference): Promise<ServedModel | null> {
    return this.ask((machine) => machine.addModel(index, reference));
  }

  dropModel(index: number): Promise<void> {
    return this.ask((machine) => machine.dropModel(index));
  }

  restart(reason: string, gpu: number | null = null): void {
    const { driven } = this;
    if (driven === null) return;
    if (gpu !== null) {
      this.gpuDown(driven, gpu, reason);
      return;
    }
    queueMicrotask(() => {
      if (!this.isUp(driven)) return;
      this.up = false;
      this.events?.down(reason, null);
      this.bringUp(driven);
    });
  }

  /** Drives the machine from now on. */
  protected drive(machine: DrivenMachine, clock: ClockSync): void {
    const driven = { machine, clock };
    this.driven = driven;
    machine.attach({
      results: (results) => this.pass(driven, results),
      gpuDown: (gpu, reason) => this.gpuDown(driven, gpu, reason),
    });
    this.bringUp(driven);
  }

  /** The machine is lost: reports `down` if it was up, and returns that. Not called from within a call of the controller's. */
  protected lost(reason: string): boolean {
    const wasUp = this.up;
    this.end();
    if (wasUp) this.events?.down(reason, null);
    return wasUp;
  }

  /** Drives no machine any more. */
  protected end(): void {
    this.driven = null;
    this.up = false;
    this.forgetRevival();
    const reason = new WorkerGone();
    for (const giveUp of this.asked) giveUp(reason);
  }

  private isUp(driven: Driven): boolean {
    return this.up && this.driven === driven;
  }

  private ask<T>(question: (machine: DrivenMachine) => Promise<T>): Promise<T> {
    const { driven } = this;
    if (driven === null) return Promise.reject(new WorkerGone());
    return new Promise((resolve, reject) => {
      this.asked.add(reject);
      question(driven.machine)
        .then(resolve, reject)
        .finally(() => this.asked.delete(reject));
    });
  }

  private bringUp(driven: Driven): void {
    this.forgetRevival();
    driven.machine.quiesce().then(
      (state) => {
        if (this.driven !== driven) return;
        this.up = true;
        this.events?.up(driven.machine.description, state);
      },
      (error: Error) => {
        if (this.driven !== driven) return;
        this.complain(`the worker cannot be made idle: ${error.message}`);
        this.later(() => this.bringUp(driven));
      },
    );
  }

  // A machine may answer from within `submit`, a link never from within a call of the controller's.
  private pass(driven: Driven, results: readonly ResultMessage[]): void {
    queueMicrotask(() => {
      if (!this.isUp(driven)) {
        driven.machine.forget?.(results.flatMap(({ kept = [] }) => kept));
        return;
      }
      const { offsetNs } = driven.clock;
      this.events?.results(results.map((result) => toControllerTime(result, offsetNs)));
    });
  }

  private gpuDown(driven: Driven, gpu: number, reason: string): void {
    queueMicrotask(() => {
      if (!this.isUp(driven)) return;
      this.events?.down(reason, gpu);
      // GPUs that share a thread die and come back together.
      if (this.revival === null) this.later(() => this.restart(`GPU ${gpu} is started again`));
    });
  }

  private later(revive: () => void): void {
    this.revival = this.time.after(this.revivals.delayMs(this.nowNs()), () => {
      this.revival = null;
      revive();
    });
  }

  private forgetRevival(): void {
    this.revival?.cancel();
    this.revival = null;
  }
}

const FIRST_REVIVAL_MS = 100;
const LONGEST_REVIVAL_MS = 60_000;

function toMachineTime(action: ActionMessage, offsetNs: number): ActionMessage {
  return { ...action, earliestNs: action.earliestNs + offsetNs, latestNs: action.latestNs + offsetNs };
}

function toControllerTime(result: ResultMessage, offsetNs: number): ResultMessage {
  return { ...result, beginNs: result.beginNs - offsetNs, endNs: result.endNs - offsetNs };
}

/** Link to a worker in the controller's own process, which ends with it. */
export class LocalLink extends MachineLink {
  readonly name = LOCAL;

  constructor(
    private readonly local: Machine,
    protected readonly complain: (line: string) => void = () => {},
    time: Time = REAL_TIME,
  ) {
    super(time);
  }

  override start(events: WorkerEvents, nowNs: () => number): void {
    super.start(events, nowNs);
    this.drive(this.local, ownClock(nowNs, this.time));
  }

  async close(): Promise<void> {
    this.end();
    await this.local.close();
  }
}

/** Enough for one of them to be uninterrupted. */
const READINGS = 16;

/** Relation of the controller's clock to the machine's: they differ only in origin. */
function ownClock(nowNs: () => number, time: Time): ClockSync {
  const clock = new ClockSync();
  for (let i = 0; i < READINGS; i++) {
    const beforeNs = nowNs();
    clock.add(beforeNs, time.monotonicNs(), nowNs());
  }
  return clock;
}
