import { EscapementError } from '../../../base/errors.js';
import type { OrtDeviceSpec } from '../../device.js';
import { atLongest } from '../../lengths.js';
import type { ModelSignature } from '../../model.js';
import { callRuntime, type OnProgress } from '../../ort/runtime-call.js';
import { optimizeModel } from '../optimize.js';
import type { Precision } from '../precision.js';
import type { RepositoryModel } from '../repository.js';
import type { Durations } from './durations.js';
import type { OutputDifference } from './output-difference.js';

interface CompareOptions {
  /** Ascending from 1; default: those of the FP32 model. */
  readonly batchSizes?: readonly number[];
  /** Number of requests compared at each batch size, rounded up to whole batches. */
  readonly requests?: number;
  /** Number of INFERs timed at each batch size and precision; null: as many as 2 s allow, but at least 30. */
  readonly runs?: number | null;
  /** Seed of the inputs. */
  readonly seed?: number;
  readonly onProgress?: OnProgress;
}

/** Effects of FP16 on a model on a device. */
export interface PrecisionComparison {
  readonly name: string;
  /** Sizes of the optimized models, as loaded. */
  readonly weightsBytes: Readonly<Record<Precision, number>>;
  readonly difference: OutputDifference;
  readonly batches: readonly PrecisionTiming[];
}

export interface PrecisionTiming {
  readonly batch: number;
  readonly fp32: Durations;
  readonly fp16: Durations;
  /** Speed of the median INFER at FP16 relative to FP32. */
  readonly speedUp: number;
}

/** Both files of one model. */
export type PrecisionPair = Readonly<Record<Precision, RepositoryModel>>;

/**
 * Runs both files of a model on a device with the same random inputs, in a process of its own: compares their outputs
 * and the time of INFERs, measured alternately so that a slowdown of the machine affects both. Nothing else should run
 * on the machine meanwhile. Rejects with `E_MODEL_FILE` if the files are not of one model or fail on the device, and
 * with `E_DEVICE` if it is missing.
 *
 * @example
 * const dir = 'models/resnet18';
 * const pair = { fp32: await readModel(dir, 'fp32'), fp16: await readModel(dir, 'fp16') };
 * const { batches, difference } = await comparePrecision(pair, device);
 */
export async function comparePrecision(
  pair: PrecisionPair,
  device: OrtDeviceSpec,
  options: CompareOptions = {},
): Promise<PrecisionComparison> {
  const { fp32, fp16 } = pair;
  checkSame(fp32, fp16);
  const { batchSizes = fp32.batchSizes, requests = 32, runs = null, seed = 1, onProgress } = options;
  const task: CompareTask = {
    name: fp32.name,
    ortPaths: {
      fp32: (await optimizeModel(fp32.onnxPath, device.kind)).ortPath,
      fp16: (await optimizeModel(fp16.onnxPath, device.kind)).ortPath,
    },
    signature: atLongest(fp32.signature),
    device,
    batchSizes,
    requests,
    runs,
    seed,
  };
  return callRuntime('compare', task, onProgress);
}

/** Task of the comparing process. */
export interface CompareTask {
  readonly name: string;
  readonly ortPaths: Readonly<Record<Precision, string>>;
  readonly signature: ModelSignature;
  readonly device: OrtDeviceSpec;
  readonly batchSizes: readonly number[];
  readonly requests: number;
  readonly runs: number | null;
  readonly seed: number;
}

function checkSame(fp32: RepositoryModel, fp16: RepositoryModel): void {
  if (JSON.stringify(fp32.signature) === JSON.stringify(fp16.signature)) return;
  throw new EscapementError('E_MODEL_FILE', `takes or gives other tensors than ${fp32.onnxPath}`, {
    file: fp16.onnxPath,
  });
}
