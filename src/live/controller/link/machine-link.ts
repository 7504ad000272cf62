import { invariant } from '../../../base/invariant.js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { ActionMessage, ModelReference, ResultMessage, WorkerState } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import { NO_OPERATORS, type OperatorRun, type OperatorRuns } from '../../operator-runs.js';
import type { Machine, MachineEvents } from '../../worker/machine.js';
import { Backoff } from './backoff.js';
import type { ClockSync } from './clock-sync.js';
import { type WorkerEvents, WorkerGone, type WorkerLink } from './worker-link.js';

/** A machine as driven by a controller: in this process, or at the other end of a stream. */
export type DrivenMachine = Pick<
  Machine,
  | 'description'
  | 'attach'
  | 'submit'
  | 'quiesce'
  | 'listModels'
  | 'addModel'
  | 'dropModel'
  | 'startRecording'
  | 'stopRecording'
>;

interface MachineLinkOptions {
  readonly machine: DrivenMachine;
  /** Estimate of the machine's clock. */
  readonly clock: ClockSync;
  readonly events: WorkerEvents;
  /** Clock of the controller. */
  readonly nowNs: () => number;
  readonly time: Time;
  readonly log: (line: string) => void;
}

/**
 * A machine driven by a controller, from the time it can be reached until it is lost: makes it idle, reports it up,
 * passes actions and results and translates their times. When a GPU dies, `down` is reported at once and the others go
 * on working; a moment later the whole machine goes down, is made idle, which restarts the GPU, and comes up again. So
 * a GPU that keeps dying interrupts the others at most once a minute.
 */
export class MachineLink {
  private readonly machine: DrivenMachine;
  private readonly clock: ClockSync;
  private readonly events: WorkerEvents;
  private readonly nowNs: () => number;
  private readonly time: Time;
  private readonly log: (line: string) => void;
  private readonly backoff = new Backoff(FIRST_REVIVAL_MS, LONGEST_REVIVAL_MS);
  private revival: Timer | null = null;
  private up = false;
  private ended = false;
  private giveUpRecording: (reason: Error) => void = () => {};
  /** Rejects pending requests about the machine's models. */
  private readonly asked = new Set<(reason: Error) => void>();

  constructor({ machine, clock, events, nowNs, time, log }: MachineLinkOptions) {
    this.machine = machine;
    this.clock = clock;
    this.events = events;
    this.nowNs = nowNs;
    this.time = time;
    this.log = log;
  }

  start(): void {
    const events: MachineEvents = {
      results: (results) => this.pass(results),
      gpuDown: (gpu, reason) => this.gpuDown(gpu, reason),
    };
    this.machine.attach(events);
    this.bringUp();
  }

  send(actions: readonly ActionMessage[]): void {
    invariant(this.up, 'actions go to a worker that is up');
    const { offsetNs } = this.clock;
    this.machine.submit(actions.map((action) => toMachineTime(action, offsetNs)));
  }

  listModels(name: string | null): Promise<ModelList> {
    return this.ask(() => this.machine.listModels(name));
  }

  addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    return this.ask(() => this.machine.addModel(index, reference));
  }

  dropModel(index: number): Promise<void> {
    return this.ask(() => this.machine.dropModel(index));
  }

  /** No effect unless it is up. */
  startRecording(): void {
    if (this.up) this.machine.startRecording();
  }

  /** With times by the controller's clock. Rejects if the recording is lost. */
  async stopRecording(): Promise<OperatorRuns> {
    if (this.ended) return NO_OPERATORS;
    const { operators, dropped } = await this.recorded();
    const { offsetNs } = this.clock;
    return { operators: operators.map((run) => atControllerTime(run, offsetNs)), dropped };
  }

  /** Reports `down`, then makes the machine idle and `up` again: at once, or as after the death of that GPU. */
  restart(reason: string, gpu: number | null = null): void {
    if (gpu !== null) {
      this.gpuDown(gpu, reason);
      return;
    }
    queueMicrotask(() => {
      if (!this.up) return;
      this.up = false;
      this.events.down(reason, null);
      this.bringUp();
    });
  }

  /**
   * The machine is lost: reports `down` if it was up, and returns that, then reports nothing more. Must not be called
   * from within a call of the controller's.
   */
  lost(reason: string): boolean {
    const wasUp = this.up;
    this.end();
    if (wasUp) this.events.down(reason, null);
    return wasUp;
  }

  /** Stops all reports. */
  end(): void {
    this.ended = true;
    this.up = false;
    this.forgetRevival();
    const reason = new WorkerGone();
    this.giveUpRecording(reason);
    for (const giveUp of this.asked) giveUp(reason);
  }

  private ask<T>(question: () => Promise<T>): Promise<T> {
    if (this.ended) return Promise.reject(new WorkerGone());
    return new Promise((resolve, reject) => {
      this.asked.add(reject);
      question()
        .then(resolve, reject)
        .finally(() => this.asked.delete(reject));
    });
  }

  private async recorded(): Promise<OperatorRuns> {
    let timer: Timer | undefined;
    const givenUp = new Promise<never>((_, reject) => {
      this.giveUpRecording = reject;
      const late = new Error(`they have not come within ${RECORDING_TIMEOUT_MS} ms`);
      timer = this.time.after(RECORDING_TIMEOUT_MS, () => reject(late));
    });
    try {
      return await Promise.race([this.machine.stopRecording(), givenUp]);
    } finally {
      timer?.cancel();
    }
  }

  private bringUp(): void {
    this.forgetRevival();
    this.machine.quiesce().then(
      (state) => this.comeUp(state),
      (error: Error) => this.tryLater(error),
    );
  }

  private comeUp(state: WorkerState): void {
    if (this.ended) return;
    this.up = true;
    this.events.up(this.machine.description, state);
  }

  private tryLater(error: Error): void {
    if (this.ended) return;
    this.log(`the worker cannot be made idle: ${error.message}`);
    this.later(() => this.bringUp());
  }

  // A machine may answer from within `submit`, a link never from within a call of the controller's.
  private pass(results: readonly ResultMessage[]): void {
    queueMicrotask(() => {
      if (!this.up) return;
      const { offsetNs } = this.clock;
      this.events.results(results.map((result) => toControllerTime(result, offsetNs)));
    });
  }

  private gpuDown(gpu: number, reason: string): void {
    queueMicrotask(() => {
      if (!this.up) return;
      this.events.down(reason, gpu);
      // GPUs that share a thread die and come back together.
      if (this.revival === null) this.later(() => this.restart(`GPU ${gpu} is started again`));
    });
  }

  private later(revive: () => void): void {
    this.revival = this.time.after(this.backoff.delayMs(this.nowNs()), () => {
      this.revival = null;
      revive();
    });
  }

  private forgetRevival(): void {
    this.revival?.cancel();
    this.revival = null;
  }
}

/** Link whose orders and questions go to a machine, once that is driven. */
export abstract class DrivingLink implements WorkerLink {
  abstract readonly name: string;
  /** Null: no machine is driven at present. */
  protected abstract readonly machine: MachineLink | null;

  abstract start(events: WorkerEvents, nowNs: () => number): void;

  abstract close(): Promise<void>;

  send(actions: readonly ActionMessage[]): void {
    invariant(this.machine !== null, 'actions go to a worker that is up');
    this.machine.send(actions);
  }

  async listModels(name: string | null): Promise<ModelList> {
    if (this.machine === null) throw new WorkerGone();
    return this.machine.listModels(name);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    if (this.machine === null) throw new WorkerGone();
    return this.machine.addModel(index, reference);
  }

  async dropModel(index: number): Promise<void> {
    await this.machine?.dropModel(index);
  }

  restart(reason: string, gpu: number | null): void {
    this.machine?.restart(reason, gpu);
  }

  startRecording(): void {
    this.machine?.startRecording();
  }

  async stopRecording(): Promise<OperatorRuns> {
    return this.machine?.stopRecording() ?? NO_OPERATORS;
  }
}

const FIRST_REVIVAL_MS = 100;
const LONGEST_REVIVAL_MS = 60_000;
/** Time for a machine to wait for its threads, read what they have written, and send it. */
const RECORDING_TIMEOUT_MS = 30_000;

function toMachineTime(action: ActionMessage, offsetNs: number): ActionMessage {
  return { ...action, earliestNs: action.earliestNs + offsetNs, latestNs: action.latestNs + offsetNs };
}

function toControllerTime(result: ResultMessage, offsetNs: number): ResultMessage {
  return { ...result, beginNs: result.beginNs - offsetNs, endNs: result.endNs - offsetNs };
}

function atControllerTime(run: OperatorRun, offsetNs: number): OperatorRun {
  return { ...run, beginNs: run.beginNs - offsetNs, endNs: run.endNs - offsetNs };
}
