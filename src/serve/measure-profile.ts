import { cpus } from 'node:os';
import type { Profile } from '../config/profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import { fillByInput } from '../live/lengths.js';
import { modelDigest } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/batching.js';
import { type Measurement, measureModel } from '../live/models/measure/measure.js';
import { MEASURE_BUDGET_NS } from '../live/models/measure/session-timing.js';
import { optimizeModel } from '../live/models/optimize.js';
import type { RepositoryModel } from '../live/models/repository.js';
import { samplesDigest } from '../live/models/samples.js';
import { onnxruntimeVersion } from '../live/ort/open-session.js';

interface ProfileOptions {
  /** Ascending from 1; default: those of the model. */
  readonly batchSizes?: readonly number[];
  /** Number of INFERs at each batch size; null: until their figures are stable or `budgetNs` is spent. */
  readonly runs?: number | null;
  /** Time for a whole model. Default: 3 s. */
  readonly budgetNs?: number;
  /** Folder for the optimized model; null: next to the model. */
  readonly cacheDir?: string | null;
  /** Reports progress from 0 to 1, and the next step. */
  onProgress?(share: number, next: string): void;
}

export interface MeasuredProfile {
  readonly profile: Profile;
  readonly measurement: Measurement;
}

/**
 * Profiles a model on a device of this machine, on which nothing else should run meanwhile. Throws `E_DEVICE` and
 * `E_MODEL_FILE`, and `E_FILE_WRITE` if the optimized model cannot be written next to the model.
 */
export async function measureProfile(
  model: RepositoryModel,
  device: OrtDeviceSpec,
  {
    batchSizes = model.batchSizes,
    runs = null,
    budgetNs = MEASURE_BUDGET_NS,
    cacheDir = null,
    onProgress,
  }: ProfileOptions = {},
): Promise<MeasuredProfile> {
  const { signature, onnxPath, samples } = model;
  const { ortPath } = await optimizeModel(onnxPath, device.kind, cacheDir);
  const isIgnored = !model.batchIsUnchecked;
  const mayBeBatched = signature.batched || signature.stackable === true;
  const check = mayBeBatched ? { precision: model.precision, isIgnored } : null;
  const { lengths } = model;
  const spec = { ortPath, signature, batchSizes, device, runs, budgetNs, check, samples, lengths };
  const measurement = await measureModel(spec, onProgress);
  const asked = { signature, batchSizes };
  const sizes = isIgnored ? batchSizes : withBatching(asked, measurement.batching).batchSizes;
  return { measurement, profile: profileOf(model, sizes, device, measurement) };
}

/** Name of a device for people. */
export function deviceText({ kind, adapter, session: { intraOpThreads } }: OrtDeviceSpec): string {
  if (kind !== 'cpu') return `${kind}, adapter ${adapter}`;
  const threads = intraOpThreads === 1 ? '1 thread' : `${intraOpThreads} threads`;
  return `${cpus()[0]?.model.trim() ?? 'CPU'}, ${threads}`;
}

function profileOf(
  { name, precision, signature, onnxPath, samples }: RepositoryModel,
  batchSizes: readonly number[],
  device: OrtDeviceSpec,
  {
    load,
    batches,
    length,
    shorter,
    batching,
    weightsBytes,
    loadedBytes,
    inputBytes,
    outputBytes,
    freeOutputs,
  }: Measurement,
): Profile {
  const gpu = deviceText(device);
  const samplesSha256 = samplesDigest(samples);
  const runtime = `onnxruntime ${onnxruntimeVersion()}`;
  const rowsOf = (timed: Measurement['batches']) =>
    timed.map((batch, i) => ({ batch: batchSizes[i], ...batch }));
  const measured = `measured by escapement with ${runtime} on ${gpu}`;
  return {
    name,
    gpu,
    runtime,
    precision: precision === 'fp16' ? 'FP16' : (signature.inputs[0]?.datatype ?? 'none'),
    weightsBytes,
    ...(loadedBytes === undefined ? {} : { loadedBytes }),
    loadMs: load.medianMs,
    loadP99Ms: load.p99Ms,
    loadMaxMs: load.maxMs,
    inputBytes,
    outputBytes,
    modelSha256: modelDigest(onnxPath),
    ...(samplesSha256 === null ? {} : { samplesSha256 }),
    ...(batching === null ? {} : { batching: { ...batching, batchSizes: [...batching.batchSizes] } }),
    ...(freeOutputs ? { freeOutputs } : {}),
    batches: rowsOf(batches),
    ...(length === undefined
      ? {}
      : {
          length,
          shorter: shorter.map((one) => ({ length: one.length, batches: rowsOf(one.batches) })),
          ...(signature.lengths === undefined ? { equalLengths: true } : { fill: fillByInput(signature) }),
        }),
    source: {
      weights: `size of the model as ${runtime} optimises it for ${device.kind}`,
      load: `${measured}; ${load.runs} LOADs from host memory`,
      copies: `inputs and outputs of ${onnxPath}`,
      batches: `${measured}; from inputs to outputs in host memory`,
    },
  };
}
