import { monotonicNs } from '../../../base/clock/clock.js';
import { EscapementError } from '../../../base/errors.js';
import { invariant } from '../../../base/invariant.js';
import {
  INFER,
  LOAD,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_INVALID_INPUT,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
} from '../../../core/action.js';
import type { OrtDeviceSpec } from '../../device.js';
import { bytesAtLength, lengthOfInputs } from '../../lengths.js';
import type { ModelSignature } from '../../model.js';
import { InputError } from '../../ort/input-error.js';
import { runtimeProblem } from '../../ort/runtime-problem.js';
import type { ModelSession, SessionRun } from '../../ort/session.js';
import { areApart, freeLarge } from '../../parcel.js';
import { HostSessions } from './host-sessions.js';
import type { OperatorRecorder } from './operator-recorder.js';
import type { HostModel, HostModelOrder, HostOrder, HostReport } from './protocol.js';

/** Runs the models of one host thread on their device, one order at a time. Times include copies of tensors. */
export class ModelHost {
  private readonly sessions: HostSessions;

  constructor(
    device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: Map<number, HostModel>,
    private readonly recorder: OperatorRecorder,
  ) {
    this.sessions = new HostSessions(device, models, recorder);
  }

  /**
   * Loads one model briefly: the provider initializes in this thread now rather than in the first LOAD, and a missing
   * device is detected. Throws `E_DEVICE`; other failures belong to the model, and to its LOADs.
   */
  async probe(): Promise<void> {
    const [first] = this.models.keys();
    if (first === undefined) return;
    try {
      await this.sessions.close(await this.sessions.open(first));
    } catch (error) {
      if (error instanceof EscapementError && error.code === 'E_DEVICE') throw error;
    }
  }

  /** Changes the model at the index; null: none. Resolves when the memory of its predecessor is free. */
  async change({ index, model }: HostModelOrder): Promise<void> {
    const before = this.models.get(index);
    this.models.delete(index);
    if (before !== undefined) {
      await this.unload(index);
      freeLarge([before.bytes]);
    }
    if (model !== null) this.models.set(index, model);
  }

  /** Never throws: errors of the device are in the report. Nothing is reported of an UNLOAD. */
  async perform(order: HostOrder): Promise<HostReport | null> {
    if (order.kind === LOAD) return this.load(order);
    if (order.kind === INFER) return this.infer(order);
    await this.unload(order.model);
    return null;
  }

  /** True if there is upkeep to do when idle: `upkeep` does one step of it, taking some ms. */
  get hasUpkeep(): boolean {
    return this.sessions.hasUpkeep;
  }

  upkeep(): Promise<void> {
    return this.sessions.upkeep();
  }

  private async unload(model: number): Promise<void> {
    await this.sessions.unload(model).catch(() => {
      // The device could not free it properly, but it is not used again.
    });
  }

  private async load({ model, latestNs }: HostOrder): Promise<HostReport> {
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_LOAD_TOO_LATE, beginNs);
    try {
      await this.sessions.load(model);
      return done(beginNs, NO_TENSORS);
    } catch (error) {
      return failed(beginNs, error);
    }
  }

  private async infer(order: HostOrder): Promise<HostReport> {
    const { id, model, batchIndex, bucket, count, latestNs, inputs, shapes } = order;
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_INFER_TOO_LATE, beginNs);
    const loaded = this.sessions.get(model);
    try {
      invariant(loaded !== undefined, 'INFER runs on weights that are there');
      const { outputs } = (this.models.get(model) as HostModel).model.signature;
      const apart = areApart(outputs, count);
      const run = await loaded.session.run(batchIndex, count, inputs, shapes, apart, bucket);
      const report = done(beginNs, run);
      this.recorder.ran(loaded.log, id, report);
      return report;
    } catch (error) {
      if (loaded?.log) loaded.log.broken = true;
      if (error instanceof InputError && loaded !== undefined)
        return this.inferApart(order, loaded.session, beginNs, error);
      return failed(beginNs, error);
    }
  }

  /** Runs each request alone, after they failed together: valid ones must not suffer from another. */
  private async inferApart(
    { model, bucket, count, inputs }: HostOrder,
    session: ModelSession,
    beginNs: number,
    { message }: InputError,
  ): Promise<HostReport> {
    if (count === 1) return notComputed(beginNs, [message]);
    const { signature } = (this.models.get(model) as HostModel).model;
    const outputs: Uint8Array<ArrayBuffer>[] = [];
    const inputErrors: string[] = [];
    for (let r = 0; r < count; r++) {
      const own = signature.inputs.map((_, i) => inputOf(inputs, signature.inputs.length, count, r, i));
      try {
        outputs.push(...(await session.run(0, 1, own, [], false, bucket)).outputs);
        inputErrors.push('');
      } catch (error) {
        if (!(error instanceof InputError)) return failed(beginNs, error);
        outputs.push(...emptyOutputs(signature, own));
        inputErrors.push(error.message);
      }
    }
    if (inputErrors.every((error) => error !== '')) return notComputed(beginNs, inputErrors);
    return { ...done(beginNs, { ...NO_TENSORS, outputs }), inputErrors };
  }
}

/** Tensors of a LOAD. */
const NO_TENSORS: SessionRun = { outputs: [], copyInNs: 0, copyOutNs: 0 };

function done(beginNs: number, run: SessionRun): HostReport {
  return { status: STATUS_OK, beginNs, endNs: monotonicNs(), ...run, error: '' };
}

function notRun(status: number, nowNs: number): HostReport {
  return { status, beginNs: nowNs, endNs: nowNs, ...NO_TENSORS, error: '' };
}

/** The device is fine, and nothing was computed. */
function notComputed(beginNs: number, inputErrors: readonly string[]): HostReport {
  return {
    status: STATUS_INVALID_INPUT,
    beginNs,
    endNs: monotonicNs(),
    ...NO_TENSORS,
    error: '',
    inputErrors,
  };
}

/** Outputs of one request that could not be computed. */
function emptyOutputs(signature: ModelSignature, inputs: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  const length = signature.lengths === undefined ? 1 : lengthOfInputs(signature, inputs, 0);
  return signature.outputs.map((output) => new Uint8Array(bytesAtLength(output, length)));
}

/** Input number `i` of request number `r`, in either form that inputs have. */
function inputOf(
  inputs: readonly Uint8Array[],
  each: number,
  count: number,
  r: number,
  i: number,
): Uint8Array {
  if (inputs.length > each) return inputs[r * each + i];
  const bytes = inputs[i].length / count;
  return inputs[i].subarray(r * bytes, (r + 1) * bytes);
}

function failed(beginNs: number, error: unknown): HostReport {
  const { what } = runtimeProblem(error);
  return { status: STATUS_DEVICE_ERROR, beginNs, endNs: monotonicNs(), ...NO_TENSORS, error: what };
}
