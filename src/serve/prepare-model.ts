import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { fileDigest } from '../base/files/file-digest.js';
import { writeShared } from '../base/files/shared-file.js';
import { NS_PER_S } from '../base/units.js';
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
import type { Measure } from './deployment-options.js';
import { measureProfile } from './measure-profile.js';
import { findProfile } from './profiles.js';

/** Options for preparing models for a device. */
export interface PrepareOptions {
  readonly device: OrtDeviceSpec;
  readonly pageBytes: number;
  /** Folder for files derived from models; null: next to them, if that is writable. */
  readonly cacheDir: string | null;
  /** Effort for a model without a profile, and the time that it may take. Default: `full`, and that of the effort. */
  readonly measure?: Measure;
  readonly budgetNs?: number | undefined;
}

/** Default time for a model. */
const BUDGETS_NS: Readonly<Record<Measure, number>> = {
  none: 0,
  quick: 0.15 * NS_PER_S,
  full: MEASURE_BUDGET_NS,
};

/** A model ready for a worker. */
export interface PreparedModel extends WorkerModel {
  readonly digest: string;
  readonly isProvisional: boolean;
}

/**
 * Prepares a model for running: optimizes it for the device, and finds its profile there. Without a matching profile it
 * is measured, and the profile is kept. `config`: settings in place of its `config.pbtxt`. `say` receives lines for the operator. Blocks this thread at times. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function prepareModel(
  onnxPath: string,
  modelDir: string,
  options: PrepareOptions,
  say: (what: string) => void,
  config?: string,
): Promise<PreparedModel> {
  const { device, pageBytes, cacheDir } = options;
  // Taken before reading: later changes must count as changes.
  const digest = versionDigest(onnxPath, modelDir, config);
  const model = await readModelFile(onnxPath, config);
  const { ortPath, made } = await optimizeModel(onnxPath, device.kind, cacheDir);
  if (made === 'damaged') say(`${ortPath} was damaged, so it was made again`);
  const profile = await profileOf(model, options, say);
  const served = withBatching(model, checkOf(model, profile), profile.freeOutputs);
  for (const note of batchingNotes(model, profile)) say(note);
  const place = { file: join(modelDir, 'config.yaml'), key: 'batchSizes' };
  const { name, version, signature, sloNs, labels } = served;
  const spec = profileModel(restrictBatches(profile, served.batchSizes, place), name, pageBytes);
  const isProvisional = profile.provisional === true;
  return { spec, signature, version, sloNs, labels, ortPath, digest, config, isProvisional };
}

/** Digest of the model, its weights and its settings files, by which every worker identifies a version. */
export function versionDigest(onnxPath: string, modelDir: string, config?: string): string {
  const settings = settingsFiles(modelDir, basename(modelDir), config)
    .map((path) => fileDigest(path) ?? '')
    .join();
  return createHash('sha256')
    .update(JSON.stringify([modelDigest(onnxPath), settings, config]))
    .digest('hex');
}

/** The matching profile of a model; null: none. Throws like `prepareModel`. */
export async function knownProfile(
  onnxPath: string,
  { device, cacheDir }: PrepareOptions,
  config?: string,
): Promise<Profile | null> {
  return (await findProfile(await readModelFile(onnxPath, config), device, cacheDir)).profile;
}

async function profileOf(
  model: RepositoryModel,
  { device, cacheDir, measure = 'full', budgetNs = BUDGETS_NS[measure] }: PrepareOptions,
  say: (what: string) => void,
): Promise<Profile> {
  const known = await findProfile(model, device, cacheDir);
  const isEnough = measure !== 'full' || known.profile?.provisional !== true;
  if (known.profile !== null && isEnough) return known.profile;
  const why = known.why || `${known.path} is provisional`;
  say(`measuring ${model.name} on ${device.kind}: ${why}`);
  const measured = await measureProfile(model, device, { cacheDir, budgetNs });
  const profile = measure === 'full' ? measured.profile : { ...measured.profile, provisional: true };
  writeShared(known.path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}
