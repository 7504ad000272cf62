import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { writeWhole } from '../base/files/output-file.js';
import { restrictBatches } from '../config/onnx-model.js';
import { type Profile, profileModel } from '../config/profile.js';
import { profileFileName } from '../config/profile-file.js';
import { readProfile } from '../config/read-profile.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { fileDigest, modelContent } from '../live/models/digest.js';
import { withBatching } from '../live/models/measure/batching.js';
import type { ModelSource } from '../live/models/models-on-disk.js';
import { optimizeModel } from '../live/models/optimize.js';
import type { Precision } from '../live/models/precision.js';
import { type RepositoryModel, readRepository } from '../live/models/repository.js';
import { checkOf, mixedRowsText, mixedText, rowsAreMixed, suits } from './batching.js';
import { measureProfile } from './measure-profile.js';

/**
 * The models of a repository, optimised for the device and with their profiles on it. A model without a profile, or
 * with one that is damaged or lacks a batch size, is measured, and the profile is kept next to it. `say` takes lines for the
 * operator. Throws `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: (what: string) => void,
  precision: Precision = 'fp32',
): Promise<StoredModel[]> {
  const models: StoredModel[] = [];
  for (const model of await readRepository(dir, precision)) {
    const { kind } = device;
    // From before it is optimised: what changes from here on counts as changed.
    const source = sourceOf(dir, model);
    const { ortPath, made } = await optimizeModel(model.onnxPath, kind);
    if (made === 'damaged') say(`${ortPath} was damaged, so it was made again`);
    const profile = await profileOf(model, device, say);
    const served = withBatching(model, checkOf(model, profile));
    if (!served.signature.batched && model.signature.batched) say(mixedText(model.name, profile));
    if (rowsAreMixed(model, profile)) say(mixedRowsText(model.name, profile));
    const place = { file: join(dir, model.name, 'config.yaml'), key: 'batchSizes' };
    const { name, version, signature, sloNs, labels } = served;
    const spec = profileModel(restrictBatches(profile, served.batchSizes, place), name, pageBytes);
    models.push({ spec, signature, version, sloNs, labels, ortPath, source });
  }
  return models;
}

/** A model as a worker runs it, and where it comes from. */
interface StoredModel extends WorkerModel {
  readonly source: ModelSource;
}

function sourceOf(dir: string, { name, version, onnxPath }: RepositoryModel): ModelSource {
  const settings = fileDigest(join(dir, name, 'config.yaml'));
  return { name, version, onnxPath, content: modelContent(onnxPath), settings };
}

async function profileOf(
  model: RepositoryModel,
  device: OrtDeviceSpec,
  say: (what: string) => void,
): Promise<Profile> {
  const path = join(dirname(model.onnxPath), profileFileName(device));
  let why = 'is missing';
  if (existsSync(path)) {
    const profile = await readProfile(path).catch(damage);
    if (!(profile instanceof EscapementError) && suits(profile, model)) return profile;
    why =
      profile instanceof EscapementError
        ? `is damaged (${profile.message})`
        : 'does not fit the model as it is now';
  }
  say(`measuring ${model.name} on ${device.kind}: ${path} ${why}`);
  const { profile } = await measureProfile(model, device, {
    batchSizes: model.batchSizes,
    runs: null,
    onProgress: () => {},
  });
  writeWhole(path, `${JSON.stringify(profile, null, 2)}\n`);
  return profile;
}

/** A profile that cannot be understood is measured again; any other error is thrown. */
function damage(error: unknown): EscapementError {
  if (error instanceof EscapementError && error.code === 'E_PROFILE') return error;
  throw error;
}
