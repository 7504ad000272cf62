import { type ModelSignature, unbatched, withFreeOutputs } from '../../model.js';
import { callRuntime, type OnProgress } from '../../ort/runtime-call.js';
import type { Precision } from '../precision.js';
import type { BatchingCheck, BatchingSpec } from './check-batching.js';
import type { Timing, TimingSpec } from './session-timing.js';

export interface MeasureSpec extends TimingSpec {
  /** The model, optimized for the device. */
  readonly ortPath: string;
  /**
   * Checks first that its rows are independent. A model with dependent rows is timed one row at a time, unless
   * `isIgnored`.
   */
  readonly check?: { readonly precision: Precision; readonly isIgnored: boolean } | null;
}

/** Measurements of a model on a device that a scheduler needs. */
export interface Measurement extends Timing {
  /** Size of the optimized model. */
  readonly weightsBytes: number;
  /** Size for one request. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Null: not checked. */
  readonly batching: BatchingCheck | null;
  /** True if outputs have other sizes than the model declares, because they follow from the values of inputs. */
  readonly freeOutputs: boolean;
}

/**
 * Measures a model on a device, in a process of its own. Nothing else should run on the machine meanwhile. Rejects with
 * `E_DEVICE` if the device is missing, and with `E_MODEL_FILE` if the model fails on it.
 */
export function measureModel(spec: MeasureSpec, onProgress: OnProgress = () => {}): Promise<Measurement> {
  return callRuntime('measure', spec, onProgress);
}

export interface BatchingTask extends BatchingSpec {
  /** The model, optimized for the device. */
  readonly ortPath: string;
}

/** Runs `checkBatching` in a process of its own. Rejects with its errors. */
export function measureBatching(task: BatchingTask): Promise<BatchingCheck> {
  return callRuntime('checkBatches', task);
}

/** Returns a model as it is served after measuring; `check` null: its batches were not checked. */
export function withBatching<
  T extends { readonly signature: ModelSignature; readonly batchSizes: readonly number[] },
>(model: T, check: Pick<BatchingCheck, 'independent'> | null, freeOutputs = false): T {
  if (check?.independent === false)
    return { ...model, signature: unbatched(model.signature), batchSizes: [1] };
  return freeOutputs ? { ...model, signature: withFreeOutputs(model.signature) } : model;
}
