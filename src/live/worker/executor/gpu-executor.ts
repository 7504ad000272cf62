import type { Action } from '../../../core/action.js';
import { NO_MODEL } from '../../../core/model.js';
import { Worker } from '../../../core/worker.js';
import type { ActionMessage, ResultMessage } from '../../messages.js';
import type { WorkerModel } from '../../model.js';
import { freeLarge } from '../../parcel.js';
import type { Device } from './device.js';
import { LiveAction } from './live-action.js';

interface GpuExecutorOptions {
  /** By index; null: none. Its owner may change it, and reports that. */
  readonly models: readonly (WorkerModel | null)[];
  /** Pages of this GPU's weights cache. */
  readonly pages: number;
  readonly oneLane: boolean;
  readonly device: Device;
  readonly sendResult: (result: ResultMessage) => void;
}

/** One GPU: the worker that keeps its windows, and the device that runs what the worker starts. */
export class GpuExecutor {
  private readonly worker: Worker;
  private readonly models: readonly (WorkerModel | null)[];
  private readonly device: Device;
  private paused = false;

  constructor({ models, pages, oneLane, device, sendResult }: GpuExecutorOptions) {
    this.models = models;
    this.device = device;
    this.worker = new Worker({
      models: models.map((model) => model?.spec ?? NO_MODEL),
      pages,
      oneLane,
      device,
      sendResult: (action) => {
        const live = action as LiveAction;
        sendResult(live.toResult());
        if (live.staged) device.discard(live);
        else freeLarge(live.inputs);
      },
    });
  }

  /** True if the device raises the thread's signal: `turn` is due whenever the thread wakes. */
  get signals(): boolean {
    return this.device.signals;
  }

  get busy(): boolean {
    return this.device.busy;
  }

  /** Actions in progress on the device. */
  get running(): readonly Action[] {
    return this.worker.running;
  }

  /** Call when the model at the index has changed. */
  modelChanged(index: number): void {
    this.worker.putModel(index, this.models[index]?.spec ?? NO_MODEL);
  }

  /** Call `turn` afterwards. */
  receive(message: ActionMessage): void {
    this.worker.receive(new LiveAction(message), message.earliestNs, message.latestNs);
  }

  /** Processes ended actions and starts what may start. Returns the latest time of the next call. */
  turn(nowNs: number): number {
    const { worker, device } = this;
    device.collect(worker, nowNs);
    if (this.paused) return device.nextEndNs;
    worker.step(nowNs);
    return Math.min(device.nextEndNs, worker.nextWakeNs());
  }

  /** Drops waiting actions, and starts nothing until `resume`. */
  pause(): void {
    this.worker.dropWaiting();
    this.device.discardWaiting();
    this.paused = true;
  }

  /** Returns the models whose weights are present. Call `turn` afterwards. */
  resume(): number[] {
    this.paused = false;
    return [...this.models.keys()].filter((model) => this.worker.isPresent(model));
  }
}
