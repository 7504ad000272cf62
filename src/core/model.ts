import { EscapementError } from '../base/errors.js';

/**
 * What the scheduler knows of one model before it runs: the measured profile.
 * `execNs[i]` is the time of one INFER at `batchSizes[i]`, copies of inputs and outputs not counted.
 */
export interface ModelSpec {
  readonly name: string;
  readonly weightsBytes: number;
  /** Pages of the weights cache that its weights take. */
  readonly pages: number;
  /** Time to copy the weights from host to GPU. */
  readonly loadNs: number;
  /** Ascending, starting with 1. */
  readonly batchSizes: readonly number[];
  /** One entry a batch size. */
  readonly execNs: readonly number[];
  /** Bytes of one request's input and output. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** Stands in a slot of a cluster that no model is in. */
export const NO_MODEL: ModelSpec = {
  name: '',
  weightsBytes: 0,
  pages: 1,
  loadNs: 1,
  batchSizes: [1],
  execNs: [1],
  inputBytes: 0,
  outputBytes: 0,
};

/** Throws `E_PROFILE` unless the specification is usable; returns it for chaining. */
export function checkModel(model: ModelSpec): ModelSpec {
  const wrong = modelProblem(model);
  if (wrong !== '') throw new EscapementError('E_PROFILE', `model ${model.name}: ${wrong}`);
  return model;
}

function modelProblem(model: ModelSpec): string {
  if (!isCount(model.pages) || model.pages < 1) return `needs at least one page, found ${model.pages}`;
  if (!isCount(model.weightsBytes))
    return `weights bytes must be a whole number, found ${model.weightsBytes}`;
  // A LOAD that takes no time could be repeated for ever within one instant.
  if (!isCount(model.loadNs) || model.loadNs < 1) {
    return `load time must be a positive whole number of ns, found ${model.loadNs}`;
  }
  if (!isCount(model.inputBytes) || !isCount(model.outputBytes))
    return 'input and output bytes must be whole numbers';
  if (model.batchSizes.length === 0 || model.batchSizes[0] !== 1) return 'batch sizes must start with 1';
  if (model.execNs.length !== model.batchSizes.length) return 'needs one execution time for each batch size';
  for (let i = 0; i < model.batchSizes.length; i++) {
    if (i > 0 && !(model.batchSizes[i] > model.batchSizes[i - 1])) return 'batch sizes must ascend';
    if (!isCount(model.execNs[i]) || model.execNs[i] < 1) {
      return `execution time at batch ${model.batchSizes[i]} must be a positive whole number of ns, found ${model.execNs[i]}`;
    }
  }
  return '';
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
