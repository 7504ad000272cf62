import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { fileDigest } from '../base/files/file-digest.js';
import { writeShared } from '../base/files/shared-file.js';
import { restrictBatches } from '../config/onnx-model.js';
import { type Profile, profileModel } from '../config/profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { modelDigest } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/batching.js';
import { MEASURE_BUDGET_NS } from '../live/models/measure/session-timing.js';
import { settingsFiles } from '../live/models/model-settings.js';
import { optimizeModel } from '../live/models/optimize.js';
import { type RepositoryModel, readModelFile } from '../live/models/repository.js';
import { batchingNotes, checkOf } from './batching.js';
import { measureProfile } from './measure-profile.js';
import { findProfile } from './profiles.js';

/** Options for preparing models for a device. */
export interface PrepareOptions {
  readonly device: OrtDeviceSpec;
  readonly pageBytes: number;
  /** Folder for files derived from models; null: next to them, if that is writable. */
  readonly cacheDir: string | null;
  /** Time for profiling a model. Default: 3 s. */
  readonly budgetNs?: number;
}

/** A model ready for a worker. */
export interface PreparedModel extends WorkerModel {
  readonly digest: string;
}

/**
 * Prepares a model for running: optimizes it for the device, and finds its profile there. Without a matching profile it
 * is measured, and the profile is kept. `say` receives lines for the operator. Blocks this thread at times. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function prepareModel(
  onnxPath: string,
  modelDir: string,
  options: PrepareOptions,
  say: (what: string) => void,
): Promise<PreparedModel> {
  const { device, pageBytes, cacheDir } = options;
  // Taken before reading: later changes must count as changes.
  const digest = versionDigest(onnxPath, modelDir);
  const model = await readModelFile(onnxPath);
  const { ortPath, made } = await optimizeModel(onnxPath, device.kind, cacheDir);
  if (made === 'damaged') say(`${ortPath} was damaged, so it was made again`);
  const profile = await profileOf(model, options, say);
  const served = withBatching(model, checkOf(model, profile), profile.freeOutputs);
  for (const note of batchingNotes(model, profile)) say(note);
  const place = { file: join(modelDir, 'config.yaml'), key: 'batchSizes' };
  const { name, version, signature, sloNs, labels } = served;
  const spec = profileModel(restrictBatches(profile, served.batchSizes, place), name, pageBytes);
  return { spec, signature, version, sloNs, labels, ortPath, digest };
}

/** Digest of the model, its weights and its settings files, by which every worker identifies a version. */
export function versionDigest(onnxPath: string, modelDir: string): string {
  const settings = settingsFiles(modelDir, basename(modelDir))
    .map((path) => fileDigest(path) ?? '')
    .join();
  return createHash('sha256')
    .update(JSON.stringify([modelDigest(onnxPath), settings]))
    .digest('hex');
}

/** True if a model has a matching profile. Throws like `prepareModel`. */
export async function isMeasured(onnxPath: string, { device, cacheDir }: PrepareOptions): Promise<boolean> {
  const { profile } = await findProfile(await readModelFile(onnxPath), device, cacheDir);
  return profile !== null;
}

async function profileOf(
  model: RepositoryModel,
  { device, cacheDir, budgetNs = MEASURE_BUDGET_NS }: PrepareOptions,
  say: (what: string) => void,
): Promise<Profile> {
  const known = await findProfile(model, device, cacheDir);
  if (known.profile !== null) return known.profile;
  say(`measuring ${model.name} on ${device.kind}: ${known.why}`);
  const { profile } = await measureProfile(model, device, { cacheDir, budgetNs });
  writeShared(known.path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}
