import { invariant } from '../../../base/invariant.js';
import { NS_PER_MS } from '../../../base/units.js';
import { LANE_EXEC, LANE_WEIGHTS, STATUS_ABORTED, STATUS_OK } from '../../../core/action.js';
import { timesOfBucket } from '../../../core/lengths.js';
import type { Worker } from '../../../core/worker.js';
import type { DeviceMemory, SimulatedDeviceSpec } from '../../device.js';
import { bytesAtLength, lengthOfInputs } from '../../lengths.js';
import type { ModelSignature, WorkerModel } from '../../model.js';
import { areApart } from '../../transfer.js';
import type { Device, LiveAction } from './executor-loop.js';

/** Time for stopping an INFER if the profile's times are not scaled: default of `cluster.abort` in simulations. */
const ABORT_NS = NS_PER_MS;

/**
 * A GPU that takes the time in the models' profiles, in real time. An action ends exactly at its start plus that time,
 * even if the thread notices later. The profiles are those of the machine, so they are already scaled.
 */
export class SimulatedDevice implements Device {
  readonly copies = false;
  readonly signals = false;
  private execEndNs = Number.POSITIVE_INFINITY;
  private loadEndNs = Number.POSITIVE_INFINITY;
  private executing: LiveAction | null = null;
  private execStatus = STATUS_OK;
  /** By model: bytes of its weights. */
  private readonly weights = new Map<number, number>();
  private leakedBytes = 0;

  constructor(
    private readonly spec: SimulatedDeviceSpec,
    private readonly models: readonly (WorkerModel | null)[],
  ) {}

  get nextEndNs(): number {
    return Math.min(this.execEndNs, this.loadEndNs);
  }

  get busy(): boolean {
    return this.nextEndNs !== Number.POSITIVE_INFINITY;
  }

  get memory(): DeviceMemory | null {
    const { memory } = this.spec;
    if (memory === undefined) return null;
    const usedBytes = [...this.weights.values()].reduce((sum, bytes) => sum + bytes, this.leakedBytes);
    return { usedBytes, totalBytes: memory.totalBytes };
  }

  startExec(action: LiveAction, nowNs: number): void {
    this.executing = action;
    this.execStatus = STATUS_OK;
    const execNs = timesOfBucket(this.modelOf(action).spec, action.bucket);
    this.execEndNs = nowNs + this.takes(execNs[action.batchIndex]);
  }

  abort(nowNs: number): void {
    const endNs = nowNs + Math.round(ABORT_NS * this.spec.timeScale);
    if (endNs >= this.execEndNs) return;
    this.execStatus = STATUS_ABORTED;
    this.execEndNs = endNs;
  }

  startLoad(action: LiveAction, nowNs: number): void {
    const { loadNs, weightsBytes } = this.modelOf(action).spec;
    this.loadEndNs = nowNs + this.takes(loadNs);
    this.weights.set(action.model, weightsBytes);
    this.leakedBytes += this.spec.memory?.leakBytes ?? 0;
  }

  collect(worker: Worker, nowNs: number): void {
    if (this.executing !== null && this.execEndNs <= nowNs) {
      const endNs = this.execEndNs;
      this.executing.outputs = zeros(this.modelOf(this.executing).signature, this.executing);
      this.executing = null;
      this.execEndNs = Number.POSITIVE_INFINITY;
      worker.finished(LANE_EXEC, endNs, 1, this.execStatus);
    }
    if (this.loadEndNs <= nowNs) {
      const endNs = this.loadEndNs;
      this.loadEndNs = Number.POSITIVE_INFINITY;
      worker.finished(LANE_WEIGHTS, endNs, 1);
    }
  }

  startInput(): void {
    // Never called: copies take no time.
  }

  startOutput(): void {
    // As above.
  }

  unload(model: number): void {
    // Takes no time.
    this.weights.delete(model);
  }

  discard(): void {
    // Nothing is staged.
  }

  discardWaiting(): void {
    // As above.
  }

  private modelOf({ model }: LiveAction): WorkerModel {
    const found = this.models[model];
    invariant(found !== null && found !== undefined, 'a model that is used is there');
    return found;
  }

  private takes(durationNs: number): number {
    return this.spec.timeScale === 0 ? 0 : durationNs;
  }
}

/** Outputs of an INFER. */
function zeros(signature: ModelSignature, { count, inputs }: LiveAction): Uint8Array<ArrayBuffer>[] {
  const { outputs, lengths } = signature;
  const [runs, rows] = lengths !== undefined || areApart(outputs, count) ? [count, 1] : [1, count];
  return Array.from({ length: runs }, (_, run) => {
    const length =
      lengths === undefined ? 1 : lengthOfInputs(signature, inputs, run * signature.inputs.length);
    return outputs.map((output) => new Uint8Array(bytesAtLength(output, length) * rows));
  }).flat();
}
