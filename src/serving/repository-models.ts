import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { restrictBatches } from '../experiment/onnx-model.js';
import { type Profile, profileModel, readProfile } from '../experiment/profile.js';
import { profileFileName } from '../experiment/profile-file.js';
import { writeWhole } from '../files/output-file.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { optimizeModel } from '../live/models/optimize.js';
import type { Precision } from '../live/models/precision.js';
import { type RepositoryModel, readRepository } from '../live/models/repository.js';
import { measureProfile } from './measure-profile.js';

/**
 * The models of a repository, optimised for the device and with their profiles on it. A model without a profile, or
 * with one that lacks a batch size, is measured, and the profile is kept beside it. `say` takes lines for the
 * operator. Throws `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: (what: string) => void,
  precision: Precision = 'fp32',
): Promise<WorkerModel[]> {
  const models: WorkerModel[] = [];
  for (const model of await readRepository(dir, precision)) {
    const { kind } = device;
    const { ortPath } = await optimizeModel(model.onnxPath, kind);
    const profile = await profileOf(model, device, say);
    const place = { file: join(dir, model.name, 'config.yaml'), key: 'batchSizes' };
    const { name, version, signature, sloNs } = model;
    const spec = profileModel(restrictBatches(profile, model.batchSizes, place), name, pageBytes);
    models.push({ spec, signature, version, sloNs, ortPath });
  }
  return models;
}

async function profileOf(
  model: RepositoryModel,
  device: OrtDeviceSpec,
  say: (what: string) => void,
): Promise<Profile> {
  const path = join(dirname(model.onnxPath), profileFileName(device));
  if (existsSync(path) && isNewer(path, model.onnxPath)) {
    const profile = await readProfile(path);
    const known = profile.batches.map(({ batch }) => batch);
    if (model.batchSizes.every((size) => known.includes(size))) return profile;
  }
  say(`measuring ${model.name} on ${device.kind}, for want of ${path}`);
  const { profile } = await measureProfile(model, device, {
    batchSizes: model.batchSizes,
    runs: null,
    onProgress: () => {},
  });
  writeWhole(path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}

/** A model that was replaced since has other durations. */
function isNewer(profile: string, model: string): boolean {
  return statSync(profile).mtimeMs >= statSync(model).mtimeMs;
}
