import { atLongest } from '../../lengths.js';
import type { TensorSignature } from '../../model.js';
import { callRuntime, type OnProgress } from '../../ort/runtime-call.js';
import type { Precision } from '../precision.js';
import type { BatchingCheck } from './check-batching.js';
import type { Timing, TimingSpec } from './session-timing.js';

export interface MeasureSpec extends TimingSpec {
  /** The model, optimised for the device. */
  readonly ortPath: string;
  /**
   * Whether its rows depend on each other is to be checked first. A model whose rows do is timed one row at a time,
   * unless `isIgnored`.
   */
  readonly check?: { readonly precision: Precision; readonly isIgnored: boolean } | null;
}

/** What a scheduler has to know of a model on a device. */
export interface Measurement extends Timing {
  /** Of the optimised model. */
  readonly weightsBytes: number;
  /** Of one request. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Null: that was not to be checked. */
  readonly batching: BatchingCheck | null;
}

/** What the measuring process finds. */
export interface MeasuredModel {
  readonly timing: Timing;
  readonly weightsBytes: number;
  readonly batching: BatchingCheck | null;
}

/**
 * Measures a model on a device, in a process of its own. Nothing else should run on the machine meanwhile. Rejects with
 * `E_DEVICE` when the device is not there, and with `E_MODEL_FILE` when the model fails on it.
 */
export async function measureModel(
  spec: MeasureSpec,
  onProgress: OnProgress = () => {},
): Promise<Measurement> {
  const { timing, ...found } = await callRuntime<MeasuredModel>('measure', spec, onProgress);
  const { signature } = spec;
  const { inputs, outputs } = timing.shorter === undefined ? signature : atLongest(signature);
  return { ...timing, ...found, inputBytes: total(inputs), outputBytes: total(outputs) };
}

function total(tensors: readonly TensorSignature[]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0);
}
