import {
  LANE_EXEC,
  LANE_WEIGHTS,
  type Lane,
  STATUS_DEVICE_ERROR,
  STATUS_OK,
} from '../../../../src/core/action.js';
import type { Worker } from '../../../../src/core/worker.js';
import { FREE, type WorkerModel } from '../../../../src/live/model.js';
import type { Device, LiveAction } from '../../../../src/live/worker/executor/executor-loop.js';
import type { SimulatedDevice } from '../../../../src/live/worker/executor/simulated-device.js';
import { rowsOf } from '../../scenario/expected.js';
import type { DeviceFaults } from '../device-faults.js';

/** Sees what a device does, by the clock of its machine. */
export interface DeviceEvents {
  began(action: LiveAction, nowNs: number): void;
  ended(action: LiveAction, status: number, nowNs: number): void;
  unloaded(model: number): void;
}

/** A simulated GPU that can be slow, hang, fail, run out of memory, and be noticed late. */
export class FaultyDevice implements Device {
  readonly copies = false;
  /** It is asked whenever its thread wakes, since it may have gone on after it hung. */
  readonly signals = true;
  private readonly running: Record<Lane, Running | null> = { [LANE_EXEC]: null, [LANE_WEIGHTS]: null };
  /** Notices when it has hung. */
  private hung = false;

  constructor(
    private readonly device: SimulatedDevice,
    private readonly models: readonly (WorkerModel | null)[],
    private readonly faults: DeviceFaults,
    private readonly events: DeviceEvents,
  ) {}

  get nextEndNs(): number {
    return this.faults.hangs ? Number.POSITIVE_INFINITY : this.device.nextEndNs + this.faults.lateByNs;
  }

  get busy(): boolean {
    return this.device.busy;
  }

  get memory() {
    return this.device.memory;
  }

  startExec(action: LiveAction, nowNs: number): void {
    const takesNs = this.models[action.model]?.spec.execNs[action.batchIndex] ?? 0;
    this.begin(LANE_EXEC, action, nowNs, false);
    this.device.startExec(action, nowNs + this.excess(takesNs));
  }

  startLoad(action: LiveAction, nowNs: number): void {
    this.begin(LANE_WEIGHTS, action, nowNs, this.faults.isOutOfMemory);
    this.device.startLoad(action, nowNs + this.excess(this.models[action.model]?.spec.loadNs ?? 0));
  }

  abort(nowNs: number): void {
    this.device.abort(nowNs);
  }

  collect(worker: Worker, nowNs: number): void {
    const { faults } = this;
    if (faults.hangs) this.hung = this.device.busy;
    if (faults.hangs || this.device.nextEndNs + faults.lateByNs > nowNs) return;
    // What would have ended long ago ends when the device goes on.
    const soonestNs = this.hung ? nowNs : 0;
    this.hung = false;
    const finished: Worker['finished'] = (lane, endNs, clock, status = STATUS_OK) => {
      const running = this.running[lane];
      this.running[lane] = null;
      if (running === null) return;
      const { action, error } = running;
      if (error !== '') action.error = error;
      const outcome = error === '' ? status : STATUS_DEVICE_ERROR;
      if (lane === LANE_EXEC && outcome === STATUS_OK) compute(action, this.models[action.model]);
      this.events.ended(action, outcome, nowNs);
      worker.finished(lane, Math.max(endNs, soonestNs), clock, outcome);
    };
    this.device.collect({ finished } as Worker, nowNs - faults.lateByNs);
  }

  unload(model: number): void {
    this.events.unloaded(model);
    this.device.unload(model);
  }

  startInput(): void {
    this.device.startInput();
  }

  startOutput(): void {
    this.device.startOutput();
  }

  discard(): void {
    this.device.discard();
  }

  discardWaiting(): void {
    this.device.discardWaiting();
  }

  private begin(lane: Lane, action: LiveAction, nowNs: number, hasNoRoom: boolean): void {
    const { faults } = this;
    let error = hasNoRoom ? `${FAULT}: out of memory` : '';
    if (error === '' && faults.failNext > 0) {
      faults.failNext--;
      error = FAULT;
    }
    this.running[lane] = { action, error };
    this.events.began(action, nowNs);
  }

  /** What it takes longer than it should. */
  private excess(takesNs: number): number {
    return Math.round((this.faults.slowness - 1) * takesNs);
  }
}

/** Adds one to the number that each request begins with, or to those of its rows, where outputs are rows, if it reads inputs. */
function compute(action: LiveAction, model: WorkerModel | null): void {
  if (model === null || action.inputs.length === 0) return;
  const [input] = model.signature.inputs;
  const [{ bytes, shape }] = model.signature.outputs;
  const numbers = Array.from({ length: action.count }, (_, r) => {
    const isApart = action.inputs.length > 1;
    return floats(action.inputs[isApart ? r : 0]).getFloat32(isApart ? 0 : r * input.bytes, true);
  });
  const rows = shape[0] === FREE ? rowsOf(numbers[0]) : numbers;
  if (rows !== numbers) {
    action.outputs = [new Uint8Array(rows.length * bytes)];
    action.outputShapes = [[rows.length, ...shape.slice(1)]];
  }
  const isApart = action.outputs.length > 1;
  for (const [r, number] of rows.entries())
    floats(action.outputs[isApart ? r : 0]).setFloat32(isApart ? 0 : r * bytes, number + 1, true);
}

function floats({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** What errors of faulty devices begin with. */
const FAULT = 'a device fault of the plan';

interface Running {
  readonly action: LiveAction;
  /** Empty: it will end well. */
  readonly error: string;
}
