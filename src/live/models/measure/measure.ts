import { atLongest } from '../../lengths.js';
import type { TensorSignature } from '../../model.js';
import { callRuntime, type OnProgress } from '../../ort/runtime-call.js';
import type { Precision } from '../precision.js';
import type { BatchingCheck } from './check-batching.js';
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

/** Result of the measuring process. */
export interface MeasuredModel extends Pick<Measurement, 'weightsBytes' | 'batching' | 'freeOutputs'> {
  readonly timing: Timing;
}

/**
 * Measures a model on a device, in a process of its own. Nothing else should run on the machine meanwhile. Rejects with
 * `E_DEVICE` if the device is missing, and with `E_MODEL_FILE` if the model fails on it.
 */
export async function measureModel(
  spec: MeasureSpec,
  onProgress: OnProgress = () => {},
): Promise<Measurement> {
  const { timing, ...found } = await callRuntime<MeasuredModel>('measure', spec, onProgress);
  const { signature } = spec;
  const { inputs, outputs } = atLongest(signature);
  return { ...timing, ...found, inputBytes: total(inputs), outputBytes: total(outputs) };
}

function total(tensors: readonly TensorSignature[]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0);
}
