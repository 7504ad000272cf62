import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { invariant } from '../base/invariant.js';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { Precision } from '../live/models/precision.js';
import { noModels, scanRepository } from '../live/models/scan.js';
import { digestOfFiles, prepareModel } from './prepare-model.js';

interface RepositoryOptions {
  readonly precision?: Precision;
  /** Where what is made from models is kept; null: next to them. */
  readonly cacheDir?: string | null;
  /** False: a model that cannot be served costs the others nothing, unless none can. Default: true. */
  readonly isStrict?: boolean;
}

/**
 * The models of a repository, ready for the device: see `prepareModel`. `say` takes lines for the operator. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: (what: string) => void,
  { precision = 'fp32', cacheDir = null, isStrict = true }: RepositoryOptions = {},
): Promise<WorkerModel[]> {
  const { versions, problems, notes } = scanRepository(dir, precision);
  if (versions.length === 0 && problems.length === 0) throw noModels(dir);
  const errors = problems.map(({ error }) => error);
  if (isStrict && errors.length > 0) throw errors[0];
  for (const note of notes) say(note);
  const models: WorkerModel[] = [];
  for (const { name, onnxPath } of versions) {
    try {
      const prepared = await prepareModel(onnxPath, join(dir, name), { device, pageBytes, cacheDir }, say);
      invariant(typeof prepared !== 'string', 'a new model may be measured');
      const { source, ...model } = prepared;
      models.push({ ...model, digest: digestOfFiles(source) });
    } catch (error) {
      if (isStrict || !(error instanceof EscapementError)) throw error;
      errors.push(error);
    }
  }
  if (models.length === 0) throw errors[0];
  for (const { message } of errors) say(`is not served: ${message}`);
  return models;
}
