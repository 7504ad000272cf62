import { join } from 'node:path';
import type { OrtDeviceSpec } from '../live/device.js';
import type { WorkerModel } from '../live/model.js';
import type { Precision } from '../live/models/precision.js';
import { noModels, scanRepository } from '../live/models/scan.js';
import { prepareModel } from './prepare-model.js';

interface RepositoryOptions {
  readonly precision?: Precision;
  /** Folder for files derived from models; null: next to them. */
  readonly cacheDir?: string | null;
}

/**
 * Models of a repository, ready for the device: see `prepareModel`. `say` receives lines for the operator. Throws
 * `E_MODEL_FILE`, `E_DEVICE`, `E_PROFILE`, `E_CONFIG_…` and `E_FILE_WRITE`.
 */
export async function repositoryModels(
  dir: string,
  device: OrtDeviceSpec,
  pageBytes: number,
  say: (what: string) => void,
  { precision = 'fp32', cacheDir = null }: RepositoryOptions = {},
): Promise<WorkerModel[]> {
  const { versions, problems, notes } = scanRepository(dir, precision);
  if (versions.length === 0 && problems.length === 0) throw noModels(dir);
  if (problems.length > 0) throw problems[0].error;
  for (const note of notes) say(note);
  const models: WorkerModel[] = [];
  for (const { name, onnxPath } of versions) {
    models.push(await prepareModel(onnxPath, join(dir, name), { device, pageBytes, cacheDir }, say));
  }
  return models;
}
