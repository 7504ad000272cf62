import {
  INFER,
  LOAD,
  STATUS_DEVICE_ERROR,
  STATUS_INFER_TOO_LATE,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
} from '../../core/action.js';
import { EscapementError } from '../../core/errors.js';
import { invariant } from '../../core/invariant.js';
import { monotonicNs } from '../clock.js';
import type { OrtDeviceSpec } from '../device.js';
import type { WorkerModel } from '../model.js';
import { ModelSession } from '../ort/session.js';
import type { HostOrder, HostReport } from './protocol.js';

/** A model as a host thread keeps it. */
export interface HostModel {
  readonly model: WorkerModel;
  /** Its optimised form (`.ort`) in host memory, from which it is loaded in place. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Runs the models of one host thread on their device, one order at a time. Times include copies of tensors. */
export class ModelHost {
  private readonly sessions = new Map<number, ModelSession>();

  constructor(
    private readonly device: OrtDeviceSpec,
    /** By index among the models of the machine. */
    private readonly models: ReadonlyMap<number, HostModel>,
  ) {}

  /**
   * Loads one model for a moment: the provider sets itself up in this thread now rather than in the first LOAD, and a
   * device that is not there is noticed. Throws `E_DEVICE`; other failures are those of the model, and of its LOADs.
   */
  async probe(): Promise<void> {
    const [first] = this.models.keys();
    if (first === undefined) return;
    try {
      const session = await this.open(first);
      await session.release();
    } catch (error) {
      if (error instanceof EscapementError && error.code === 'E_DEVICE') throw error;
    }
  }

  /** Never throws: what goes wrong on the device is told in the report. Nothing is reported of an UNLOAD. */
  async perform(order: HostOrder): Promise<HostReport | null> {
    if (order.kind === LOAD) return this.load(order);
    if (order.kind === INFER) return this.infer(order);
    await this.unload(order.model).catch(() => {
      // The device could not free it in order. It is not used again all the same.
    });
    return null;
  }

  private async load({ model, latestNs }: HostOrder): Promise<HostReport> {
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_LOAD_TOO_LATE, beginNs);
    try {
      await this.unload(model);
      this.sessions.set(model, await this.open(model));
      return done(beginNs, []);
    } catch (error) {
      return failed(beginNs, error);
    }
  }

  private async infer({ model, batchIndex, count, latestNs, inputs }: HostOrder): Promise<HostReport> {
    const beginNs = monotonicNs();
    if (beginNs > latestNs) return notRun(STATUS_INFER_TOO_LATE, beginNs);
    try {
      const session = this.sessions.get(model);
      invariant(session !== undefined, 'INFER runs on weights that are there');
      return done(beginNs, await session.run(batchIndex, count, inputs));
    } catch (error) {
      return failed(beginNs, error);
    }
  }

  private open(index: number): Promise<ModelSession> {
    const { model, bytes } = this.models.get(index) as HostModel;
    return ModelSession.create(bytes, model.signature, model.spec.batchSizes, this.device);
  }

  private async unload(model: number): Promise<void> {
    const session = this.sessions.get(model);
    this.sessions.delete(model);
    await session?.release();
  }
}

function done(beginNs: number, outputs: HostReport['outputs']): HostReport {
  return { status: STATUS_OK, beginNs, endNs: monotonicNs(), outputs, error: '' };
}

function notRun(status: number, nowNs: number): HostReport {
  return { status, beginNs: nowNs, endNs: nowNs, outputs: [], error: '' };
}

function failed(beginNs: number, error: unknown): HostReport {
  const message = error instanceof Error ? error.message : String(error);
  return { status: STATUS_DEVICE_ERROR, beginNs, endNs: monotonicNs(), outputs: [], error: message };
}
