import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, normalize, sep } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { MIB } from '../../base/units.js';
import { FREE, type ModelSignature } from '../model.js';
import { type PbtxtTensor, readConfigPbtxt } from './config-pbtxt.js';
import { isFile } from './is-file.js';
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
  const labels = Object.values(settings.labels).filter((file) => isWithin(file));
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

/** Names of classes take less. */
const MOST_LABEL_BYTES = 16 * MIB;

/** The names of each output's classes; null: none has names. Throws `E_CONFIG_VALUE` and `E_FILE_MISSING`. */
export function readLabels(
  modelDir: string,
  { settings }: ModelFolderSettings,
  { outputs }: ModelSignature,
): readonly (readonly string[] | null)[] | null {
  const files = Object.entries(settings.labels);
  if (files.length === 0) return null;
  for (const [output, file] of files) {
    if (outputs.some(({ name }) => name === output)) continue;
    throw new EscapementError(
      'E_CONFIG_VALUE',
      `labels are for output ${output}, which the model does not have`,
      {
        file: join(modelDir, file),
      },
    );
  }
  return outputs.map(({ name }) => {
    const file = settings.labels[name];
    return file === undefined ? null : linesOf(modelDir, file);
  });
}

function isWithin(file: string): boolean {
  return !normalize(file).split(sep).includes('..');
}

function linesOf(modelDir: string, file: string): readonly string[] {
  const path = join(modelDir, file);
  const fail = (what: string) => new EscapementError('E_CONFIG_VALUE', what, { file: path });
  if (!isWithin(file)) throw fail("labels must lie in the model's folder");
  if (!isFile(path)) {
    throw new EscapementError('E_FILE_MISSING', 'there is no such file with labels', { file: path });
  }
  if (statSync(path).size > MOST_LABEL_BYTES) throw fail('labels must be smaller than 16 MiB');
  const lines = readFileSync(path, 'utf8').split(/\r?\n/);
  while (lines.at(-1) === '') lines.pop();
  return lines;
}
