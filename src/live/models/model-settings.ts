import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { FREE, type ModelSignature, type TensorSignature } from '../model.js';
import { type PbtxtSettings, readConfigJson, readConfigPbtxt } from './config-pbtxt.js';
import { isWithinFolder } from './labels.js';
import { sampleFiles } from './samples.js';
import { type ModelSettings, readSettings } from './settings.js';

/** All settings of one model by the operator. */
interface ModelFolderSettings {
  readonly settings: ModelSettings;
  /** Null: there is no `config.pbtxt`. */
  readonly pbtxt: PbtxtSettings | null;
}

/** Settings of a model outside a repository. */
export const NO_FOLDER: ModelFolderSettings = { settings: { dimensions: {}, labels: {} }, pbtxt: null };

/** Files in the folder of a model that determine how it is served. */
export const SETTINGS_FILES: readonly string[] = ['config.yaml', 'config.pbtxt'];

/**
 * Reads the settings in a model's folder: `config.yaml` and, for what that leaves open, `config.pbtxt`; or `config`, JSON in
 * place of the latter, and for what that leaves open `config.yaml`. Throws `E_CONFIG_…` with file and line.
 */
export function readFolderSettings(modelDir: string, name: string, config?: string): ModelFolderSettings {
  const own = readSettings(join(modelDir, 'config.yaml'));
  if (config !== undefined) {
    const pbtxt = readConfigJson(config, name);
    const { batchSizes, batch, ...rest } = own;
    const isSilent = pbtxt.settings.suggestedSizes === undefined;
    const batches = isSilent ? { ...(batchSizes && { batchSizes }), ...(batch && { batch }) } : {};
    const labels = { ...own.labels, ...pbtxt.settings.labels };
    return { settings: { ...rest, ...batches, ...pbtxt.settings, labels }, pbtxt };
  }
  const pbtxtPath = join(modelDir, 'config.pbtxt');
  if (!existsSync(pbtxtPath)) return { settings: own, pbtxt: null };
  const pbtxt = readConfigPbtxt(pbtxtPath, name);
  const labels = { ...pbtxt.settings.labels, ...own.labels };
  const settings = { ...pbtxt.settings, ...own, labels };
  // Batch settings in `config.yaml` replace `max_batch_size`.
  return { settings, pbtxt: own.batch === undefined ? pbtxt : { ...pbtxt, maxBatchSize: null } };
}

/** Name of a model's files given by `config.pbtxt`. Throws like `readFolderSettings`. */
export function modelFileName(modelDir: string, name: string): string | undefined {
  const path = join(modelDir, 'config.pbtxt');
  return existsSync(path) ? readConfigPbtxt(path, name).settings.modelFile : undefined;
}

/** Files of a model's folder that hold its settings: while none changes, neither do the settings. */
export function settingsFiles(modelDir: string, name: string, config?: string): string[] {
  const { settings } = readFolderSettings(modelDir, name, config);
  const labels = Object.values(settings.labels).filter(isWithinFolder);
  return [...SETTINGS_FILES, ...labels, ...sampleFiles(settings.samples, settings.warmups)].map((file) =>
    join(modelDir, file),
  );
}

/** Throws `E_CONFIG_VALUE` if `config.pbtxt` describes another model. */
export function checkDescription(signature: ModelSignature, pbtxt: PbtxtSettings): void {
  const problem = (what: string, line: number, key: string) =>
    new EscapementError('E_CONFIG_VALUE', what, { file: pbtxt.path, line, key });
  const { tensors, maxBatchSize } = pbtxt;
  const shapeOf = ({ shape }: TensorSignature) => (signature.batched ? [FREE, ...shape] : shape);
  const takesBatches = maxBatchSize !== null && maxBatchSize.size > 0;
  const fixed = [...signature.inputs, ...signature.outputs].find((tensor) => shapeOf(tensor)[0] !== FREE);
  if (takesBatches && fixed !== undefined) {
    const what = `the model takes no batches, because ${fixed.name} has the shape [${shapeOf(fixed).join(', ')}]: write 0, and all dimensions as dims`;
    throw problem(what, maxBatchSize.line, 'max_batch_size');
  }
  for (const { role, name, line, datatype, dims } of tensors) {
    const known = role === 'input' ? signature.inputs : signature.outputs;
    const tensor = known.find((one) => one.name === name);
    if (tensor === undefined) {
      throw problem(
        `the model has no ${role} ${name}: it has ${known.map((one) => one.name).join(', ')}`,
        line,
        role,
      );
    }
    if (datatype !== null && datatype !== tensor.datatype) {
      throw problem(`${name} is of type ${tensor.datatype}, not ${datatype}`, line, role);
    }
    const shape = shapeOf(tensor);
    // With a batch size, the batch is not a dimension in `config.pbtxt`.
    const ofRow = shape.slice(1);
    const allowed =
      maxBatchSize === null && shape[0] === FREE ? [ofRow, shape] : [takesBatches ? ofRow : shape];
    if (dims === null || allowed.some((one) => agree(dims, one))) continue;
    const what = `${name} has other dimensions than [${dims}]: write dims: [ ${allowed[0].join(', ')} ]`;
    throw problem(what, line, role);
  }
  const described = tensors.filter(({ role }) => role === 'input');
  const left = signature.inputs.find(({ name }) => !described.some((one) => one.name === name));
  if (described.length > 0 && left !== undefined) {
    throw problem(
      `the model has another input, ${left.name}, that is not described`,
      described[0].line,
      'input',
    );
  }
}

/** −1 is any size. */
function agree(dims: readonly number[], shape: readonly number[]): boolean {
  return (
    dims.length === shape.length &&
    dims.every((size, i) => size === -1 || shape[i] === FREE || size === shape[i])
  );
}
