import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { FREE, type ModelSignature } from '../model.js';
import { type PbtxtTensor, readConfigPbtxt } from './config-pbtxt.js';
import { isWithinFolder } from './labels.js';
import { type ModelSettings, readSettings } from './settings.js';

/** All that an operator says of one model. */
interface ModelFolderSettings {
  readonly settings: ModelSettings;
  /** What the model has to agree with; empty without a `config.pbtxt`. */
  readonly tensors: readonly PbtxtTensor[];
  readonly pbtxtPath: string;
  /** Fields of `config.pbtxt` that have no effect. */
  readonly unused: readonly string[];
}

/** Settings of a model that lies in no repository. */
export const NO_FOLDER: ModelFolderSettings = {
  settings: { dimensions: {}, labels: {} },
  tensors: [],
  pbtxtPath: '',
  unused: [],
};

/** Files in the folder of a model that settle how it is served. */
export const SETTINGS_FILES: readonly string[] = ['config.yaml', 'config.pbtxt'];

/**
 * Reads the settings in a model's folder: `config.yaml` and, where that says nothing, `config.pbtxt`. Throws
 * `E_CONFIG_…` with file and line.
 */
export function readFolderSettings(modelDir: string, name: string): ModelFolderSettings {
  const own = readSettings(join(modelDir, 'config.yaml'));
  const pbtxtPath = join(modelDir, 'config.pbtxt');
  if (!existsSync(pbtxtPath)) return { settings: own, tensors: [], pbtxtPath, unused: [] };
  const { settings, tensors, unused } = readConfigPbtxt(pbtxtPath, name);
  const labels = { ...settings.labels, ...own.labels };
  return { settings: { ...settings, ...own, labels }, tensors, pbtxtPath, unused };
}

/** The files of a model's folder with all that its settings say: while none changes, they say the same. */
export function settingsFiles(modelDir: string, name: string): string[] {
  const { settings } = readFolderSettings(modelDir, name);
  const labels = Object.values(settings.labels).filter(isWithinFolder);
  return [...SETTINGS_FILES, ...labels].map((file) => join(modelDir, file));
}

/** Throws `E_CONFIG_VALUE` where `config.pbtxt` describes another model. */
export function checkTensors(signature: ModelSignature, { tensors, pbtxtPath }: ModelFolderSettings): void {
  for (const { role, name, line, datatype, dims } of tensors) {
    const problem = (what: string) =>
      new EscapementError('E_CONFIG_VALUE', what, { file: pbtxtPath, line, key: role });
    const known = role === 'input' ? signature.inputs : signature.outputs;
    const tensor = known.find((one) => one.name === name);
    if (tensor === undefined) {
      throw problem(`the model has no ${role} ${name}: it has ${known.map((one) => one.name).join(', ')}`);
    }
    if (datatype !== null && datatype !== tensor.datatype) {
      throw problem(`${name} is of type ${tensor.datatype}, not ${datatype}`);
    }
    const shape = signature.batched ? [FREE, ...tensor.shape] : tensor.shape;
    if (dims === null || agree(dims, shape) || agree(dims, shape.slice(1))) continue;
    // With a batch size, the batch is no dimension in `config.pbtxt`.
    const own = signature.batched ? tensor.shape : shape;
    throw problem(`${name} has other dimensions than [${dims}]: write dims: [ ${own.join(', ')} ]`);
  }
}

/** −1 is any size. */
function agree(dims: readonly number[], shape: readonly number[]): boolean {
  return (
    dims.length === shape.length &&
    dims.every((size, i) => size === -1 || shape[i] === FREE || size === shape[i])
  );
}
