import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { writeWhole } from '../base/files/output-file.js';
import { restrictBatches } from '../config/onnx-model.js';
import { type Profile, profileModel } from '../config/profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { fileDigest, modelDigest } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/batching.js';
import { MEASURE_BUDGET_NS } from '../live/models/measure/session-timing.js';
import { settingsFiles } from '../live/models/model-settings.js';
import { optimizeModel } from '../live/models/optimize.js';
import { type RepositoryModel, readModelFile } from '../live/models/repository.js';
import { checkOf, mixedRowsText, mixedText, rowsAreMixed } from './batching.js';
import { measureProfile } from './measure-profile.js';
import { findProfile } from './profiles.js';

/** How models are prepared for a device. */
export interface PrepareOptions {
  readonly device: OrtDeviceSpec;
  readonly pageBytes: number;
  /** Where what is made from models is kept; null: next to them, as far as that can be written. */
  readonly cacheDir: string | null;
  /** False: a model without a profile that fits is not prepared but `unmeasured`. Default: true. */
  readonly mayMeasure?: boolean;
  /** For measuring a model. Default: 3 s. */
  readonly budgetNs?: number;
  /** What was prepared before: if nothing has changed since, the model is the `same`. */
  readonly known?: ModelFiles | null;
}

/** A model ready for a worker, and what it was made from. */
export interface PreparedModel extends WorkerModel {
  readonly source: ModelFiles;
}

/** The files of a version as they were when it was prepared, as digests. */
export interface ModelFiles {
  /** Of the model and its weights. */
  readonly content: string;
  readonly settings: string;
}

/**
 * Makes a model ready to run: optimised for the device, with a profile of it there. One without a profile that fits is
 * measured, and the profile is kept. `say` takes lines for the operator. Blocks this thread in between. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function prepareModel(
  onnxPath: string,
  modelDir: string,
  options: PrepareOptions,
  say: (what: string) => void,
): Promise<PreparedModel | 'same' | 'unmeasured'> {
  const { device, pageBytes, cacheDir, known = null } = options;
  // From before it is read: what changes from here on counts as changed.
  const source = { content: modelDigest(onnxPath), settings: settingsDigest(modelDir) };
  if (known !== null && known.content === source.content && known.settings === source.settings) return 'same';
  const model = await readModelFile(onnxPath);
  const { ortPath, made } = await optimizeModel(onnxPath, device.kind, cacheDir);
  if (made === 'damaged') say(`${ortPath} was damaged, so it was made again`);
  const profile = await profileOf(model, options, say);
  if (profile === null) return 'unmeasured';
  const served = withBatching(model, checkOf(model, profile));
  if (!served.signature.batched && model.signature.batched) say(mixedText(model.name, profile));
  if (rowsAreMixed(model, profile)) say(mixedRowsText(model.name, profile));
  const place = { file: join(modelDir, 'config.yaml'), key: 'batchSizes' };
  const { name, version, signature, sloNs, labels } = served;
  const spec = profileModel(restrictBatches(profile, served.batchSizes, place), name, pageBytes);
  return { spec, signature, version, sloNs, labels, ortPath, source };
}

/** One digest of all that a version was made from: what every worker knows it by. */
export function digestOfFiles({ content, settings }: ModelFiles): string {
  return createHash('sha256')
    .update(JSON.stringify([content, settings]))
    .digest('hex');
}

/** Of the files with a model's settings: while it is the same, so are the settings. */
function settingsDigest(modelDir: string): string {
  return settingsFiles(modelDir, basename(modelDir))
    .map((path) => fileDigest(path) ?? '')
    .join();
}

async function profileOf(
  model: RepositoryModel,
  { device, cacheDir, mayMeasure = true, budgetNs = MEASURE_BUDGET_NS }: PrepareOptions,
  say: (what: string) => void,
): Promise<Profile | null> {
  const known = await findProfile(model, device, cacheDir);
  if (known.profile !== null) return known.profile;
  if (!mayMeasure) return null;
  say(`measuring ${model.name} on ${device.kind}: ${known.why}`);
  const { profile } = await measureProfile(model, device, { cacheDir, budgetNs });
  writeWhole(known.path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}
