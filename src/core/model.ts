import { EscapementError } from '../base/errors.js';

/** Times of a model on GPUs of one kind. */
export interface ModelTimes {
  /** Time to copy the weights from host to GPU. */
  readonly loadNs: number;
  /** Time of one INFER by batch size, for inputs of the longest length, without copies of inputs and outputs. */
  readonly execNs: readonly number[];
  /** INFER times for each of the model's `lengths`, where it has several; the last entry is `execNs`. */
  readonly execNsByLength?: readonly (readonly number[])[];
}

/**
 * A model's measured profile, as known to the scheduler before it runs. Its own times are for GPUs of kind 0, the only
 * one in most clusters.
 */
export interface ModelSpec extends ModelTimes {
  readonly name: string;
  readonly weightsBytes: number;
  /** Pages of the weights cache taken by its weights. */
  readonly pages: number;
  /** Ascending, starting with 1; the same on all kinds. */
  readonly batchSizes: readonly number[];
  /** Lengths (tokens, pixels) that inputs are padded to, or measured at, ascending; absent: all have one length. */
  readonly lengths?: readonly number[];
  /** True if inputs are not padded: those of a batch have the same length, which may be any. */
  readonly equalLengths?: boolean;
  /** Times on GPUs of kinds 1, 2, …, where there are several. */
  readonly otherKinds?: readonly ModelTimes[];
  /** Kinds of GPUs that do not have the model; its times there do not count. */
  readonly notOn?: readonly number[];
  /** Bytes of one request's input and output. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** Placeholder in a slot without a model. */
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

/** Times of the model on GPUs of a kind. */
export function timesOn(model: ModelSpec, kind: number): ModelTimes {
  return kind === 0 ? model : (model.otherKinds?.[kind - 1] ?? model);
}

/** True if GPUs of a kind, each with this many pages, may hold the model. */
export function mayBeOn({ pages, notOn }: ModelSpec, kind: number, kindPages: number): boolean {
  return pages <= kindPages && notOn?.includes(kind) !== true;
}

/** Time of an INFER of one request on the fastest kind for the model. */
export function shortestExecNs({ execNs, otherKinds = [] }: ModelSpec): number {
  return otherKinds.reduce((least, times) => Math.min(least, times.execNs[0]), execNs[0]);
}

/** Throws `E_PROFILE` unless the profile is usable on this many kinds of GPUs; returns it for chaining. */
export function checkModel(model: ModelSpec, kinds = 1): ModelSpec {
  const wrong = modelProblem(model, kinds);
  if (wrong !== '') throw new EscapementError('E_PROFILE', `model ${model.name}: ${wrong}`);
  return model;
}

function modelProblem(model: ModelSpec, kinds: number): string {
  if (!isCount(model.pages) || model.pages < 1) return `needs at least one page, found ${model.pages}`;
  if (!isCount(model.weightsBytes))
    return `weights bytes must be a whole number, found ${model.weightsBytes}`;
  if (!isCount(model.inputBytes) || !isCount(model.outputBytes))
    return 'input and output bytes must be whole numbers';
  const { batchSizes, otherKinds = [] } = model;
  if (batchSizes.length === 0 || batchSizes[0] !== 1) return 'batch sizes must start with 1';
  if (batchSizes.some((size, i) => i > 0 && !(size > batchSizes[i - 1]))) return 'batch sizes must ascend';
  if (otherKinds.length < kinds - 1) return `has no times for GPUs of kind ${otherKinds.length + 1}`;
  for (const times of [model, ...otherKinds]) {
    const wrong = timesProblem(times, batchSizes) || lengthsProblem(times, model);
    if (wrong !== '') return wrong;
  }
  return '';
}

/** Limit on buckets: with more, batches of similar lengths would be rare and profiling slow. */
export const MOST_LENGTHS = 64;

function lengthsProblem({ execNs, execNsByLength }: ModelTimes, { lengths, batchSizes }: ModelSpec): string {
  if (lengths === undefined)
    return execNsByLength === undefined ? '' : 'has times for lengths, and no lengths';
  if (lengths.length === 0 || lengths.length > MOST_LENGTHS)
    return `needs 1 to ${MOST_LENGTHS} lengths, found ${lengths.length}`;
  if (lengths.some((length, i) => !isCount(length) || !(length > (i > 0 ? lengths[i - 1] : 0))))
    return `lengths must ascend and be whole numbers from 1 on, found ${lengths.join(', ')}`;
  if (execNsByLength?.length !== lengths.length) return 'needs execution times for each length';
  for (const [i, times] of execNsByLength.entries()) {
    const wrong = timesProblem({ loadNs: 1, execNs: times }, batchSizes);
    if (wrong !== '') return `at length ${lengths[i]}, ${wrong}`;
  }
  const last = execNsByLength[lengths.length - 1];
  return last.every((ns, i) => ns === execNs[i]) ? '' : 'times of the longest length must be its own';
}

function timesProblem({ loadNs, execNs }: ModelTimes, batchSizes: readonly number[]): string {
  // A zero-time LOAD could be repeated for ever within one instant.
  if (!isCount(loadNs) || loadNs < 1)
    return `load time must be a positive whole number of ns, found ${loadNs}`;
  if (execNs.length !== batchSizes.length) return 'needs one execution time for each batch size';
  const wrong = execNs.findIndex((ns) => !isCount(ns) || ns < 1);
  if (wrong < 0) return '';
  return `execution time at batch ${batchSizes[wrong]} must be a positive whole number of ns, found ${execNs[wrong]}`;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
