import { NS_PER_S } from '../../../base/units.js';
import type { ModelSpec } from '../../../core/model.js';
import { isKindName } from '../../gpu-kind.js';
import type { WorkerDescription, WorkerState } from '../../messages.js';
import {
  bytesOfShape,
  FREE,
  type ModelSignature,
  type ServedModel,
  type TensorSignature,
} from '../../model.js';

/** Limits above those of any machine, batch, LOAD or INFER. */
const MOST_GPUS = 1024;
const MOST_BATCH = 65_536;
const LONGEST_NS = 3600 * NS_PER_S;

/** Throws `Error` if a worker's description is impossible; the message follows "the worker describes itself …: ". */
export function checkDescription({ gpus, pageBytes, kind, models }: WorkerDescription): void {
  if (gpus.length === 0 || gpus.length > MOST_GPUS) throw new Error(`it has ${gpus.length} GPUs`);
  if (!(Number.isSafeInteger(pageBytes) && pageBytes > 0)) throw new Error(`pages of ${pageBytes} bytes`);
  for (const { pages } of gpus)
    if (!(Number.isSafeInteger(pages) && pages > 0)) throw new Error(`a weights cache of ${pages} pages`);
  if (kind !== undefined && !isKindName(kind))
    throw new Error(`a kind that is no name of letters and digits`);
  const names = new Set<string>();
  for (const model of models) {
    const name = `${model.spec.name}, version ${model.version}`;
    if (names.has(name)) throw new Error(`it has two models ${name}`);
    names.add(name);
    checkServed(model);
  }
}

/**
 * Throws `Error` if these weights cannot be on the worker's GPUs, with words after "the worker reports a state …: ".
 */
export function checkState(
  { present, changes = [] }: WorkerState,
  { gpus, models }: WorkerDescription,
): void {
  const known = new Set(models.keys());
  for (const { index, reference } of changes) {
    if (reference === null) known.delete(index);
    else known.add(index);
  }
  if (present.length !== gpus.length) throw new Error(`${present.length} GPUs, not ${gpus.length}`);
  for (const held of present) {
    const unknown = held.find((model) => !known.has(model));
    if (unknown !== undefined) throw new Error(`there is no model ${unknown}`);
    if (new Set(held).size !== held.length) throw new Error('a model is on a GPU twice');
  }
}

/** Throws `Error` if a worker's description of a model is impossible. */
export function checkServed({ spec, signature, sloNs }: ServedModel): void {
  const { name, loadNs, execNs, execNsByLength = [], batchSizes } = spec;
  const longestNs = Math.max(loadNs, ...execNs, ...execNsByLength.flat());
  if (longestNs > LONGEST_NS) throw new Error(`${name} takes ${longestNs} ns`);
  const largest = batchSizes[batchSizes.length - 1];
  if (largest > MOST_BATCH) throw new Error(`${name} has a batch size of ${largest}`);
  if (sloNs !== null && !(Number.isSafeInteger(sloNs) && sloNs > 0))
    throw new Error(`the SLO of ${name} is ${sloNs} ns`);
  for (const tensor of [...signature.inputs, ...signature.outputs])
    if (!isTensor(tensor)) throw new Error(`tensor ${tensor.name} of ${name} has an impossible size`);

  if (!areLengths(spec, signature)) throw new Error(`the lengths of ${name} are impossible`);
}

function areLengths(spec: ModelSpec, { inputs, outputs, batched, lengths }: ModelSignature): boolean {
  if (lengths === undefined) return true;
  const { buckets, fill } = lengths;
  const free = (shape: TensorSignature['shape']) => shape.filter((size) => size === FREE).length;
  return (
    batched &&
    `${buckets}` === `${spec.lengths}` &&
    (fill === null || fill.length === inputs.length) &&
    inputs.some(({ shape }) => free(shape) === 1) &&
    [...inputs, ...outputs].every(({ shape, bytes }) => free(shape) === 0 || (free(shape) === 1 && bytes > 0))
  );
}

function isTensor({ datatype, shape, bytes }: TensorSignature): boolean {
  const closed = shape.map((size) => (size === FREE ? 1 : size));
  const isSize = (size: number) => Number.isSafeInteger(size) && size >= 0;
  return closed.every(isSize) && isSize(bytes) && bytesOfShape(datatype, closed) === bytes;
}
