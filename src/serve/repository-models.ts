import { join } from 'node:path';
import { invariant } from '../base/invariant.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import { fileDigest, modelContent } from '../live/models/digest.js';
import type { ModelSource } from '../live/models/models-on-disk.js';
import type { Precision } from '../live/models/precision.js';
import { readRepository } from '../live/models/repository.js';
import { prepareModel } from './prepare-model.js';

/**
 * The models of a repository, ready for the device: see `prepareModel`. `say` takes lines for the operator. The first
 * model that cannot be served fails the whole. Throws `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and
 * `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: (what: string) => void,
  precision: Precision = 'fp32',
  cacheDir: string | null = null,
): Promise<StoredModel[]> {
  const models: StoredModel[] = [];
  for (const { name, version, onnxPath } of await readRepository(dir, precision)) {
    const modelDir = join(dir, name);
    const settings = fileDigest(join(modelDir, 'config.yaml'));
    // From before it is read: what changes from here on counts as changed.
    const content = modelContent(onnxPath);
    const options = { device, pageBytes, cacheDir };
    const prepared = await prepareModel(onnxPath, modelDir, options, say);
    invariant(typeof prepared !== 'string', 'a new model may be measured');
    const { source: _, ...model } = prepared;
    models.push({ ...model, source: { name, version, onnxPath, content, settings } });
  }
  return models;
}

/** A model as a worker runs it, and where it comes from. */
interface StoredModel extends WorkerModel {
  readonly source: ModelSource;
}
