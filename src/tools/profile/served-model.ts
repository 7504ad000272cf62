import { EscapementError, usageError } from '../../base/errors.js';
import { DATATYPES } from '../../live/model.js';
import { isTensorList, type LengthDescription, type ModelDescription } from '../../load/description.js';
import { payloadTensors } from '../../load/payload-tensors.js';
import type { PayloadFile } from '../../load/payloads.js';
import { plainLine } from '../../load/reply.js';
import { undescribedInputs } from '../../load/requests.js';
import type { TensorDescription } from '../../load/tensors.js';

/** Facts about a served model that measuring it as a client needs. */
export interface ServedModel {
  readonly name: string;
  /** True if its first dimension is open, so that a request may have several rows. */
  readonly batched: boolean;
  /** Number format of its first input. */
  readonly precision: string;
  /** Size of one row of inputs, at the longest length. */
  readonly inputBytes: number;
  /** Null if its inputs have one length. */
  readonly lengths: LengthDescription | null;
}

/** A model whose inputs are known. */
type MeasurableModel = ModelDescription & { readonly inputs: readonly TensorDescription[] };

/**
 * The model with the inputs of a payload file, whose only open dimension may be the rows. Throws `E_SERVER` and
 * `E_USAGE` if neither the server nor the file describes a request of one row.
 */
export function measurableModel(
  server: string,
  name: string,
  description: ModelDescription,
  [file, another]: readonly PayloadFile[] = [],
): MeasurableModel {
  const { inputs } = description;
  if (file === undefined) {
    if (inputs === null) throw undescribedInputs(server, name);
    return { ...description, inputs };
  }
  const wrong = (what: string) => usageError(`--payload ${file.path}: ${what}`);
  if (another !== undefined) throw wrong(`a model is measured with one file, and ${name} has several`);
  const tensors = payloadTensors(file, name, inputs);
  const { lengths: _, ...rest } = description;
  // An undescribed input with one row is taken for a batch.
  const batched =
    inputs === null ? tensors.every(({ shape }) => shape[0] === 1) : isBatched({ ...rest, inputs });
  const tall = tensors.find(({ shape }) => batched && shape[0] !== 1);
  if (tall !== undefined)
    throw wrong(`input ${tall.name} has ${tall.shape[0]} rows: give one, which larger batches repeat`);
  const shapeOf = (shape: readonly number[]) => (batched ? [-1, ...shape.slice(1)] : shape);
  return {
    ...rest,
    inputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape: shapeOf(shape) })),
  };
}

/**
 * Throws `E_UNKNOWN_MODEL` if a dimension other than that of the batch is open and the server does not list its
 * lengths: requests of any size would differ.
 */
export function servedModel(name: string, model: MeasurableModel): ServedModel {
  const { inputs, lengths } = model;
  const batched = isBatched(model);
  for (const input of inputs) {
    const fixed = batched ? input.shape.slice(1) : input.shape;
    if (lengths !== undefined || fixed.every((size) => size >= 0)) continue;
    const what = `input ${plainLine(input.name)} is ${plainLine(input.datatype)} [${input.shape.join(',')}]`;
    throw new EscapementError(
      'E_UNKNOWN_MODEL',
      `model ${plainLine(name)}: ${what}, and only the first dimension, of the batch, may be open unless the server says which lengths it takes: how long it takes depends on the others, so give inputs with --payload`,
    );
  }
  const precision = plainLine(inputs[0]?.datatype ?? '') || 'none';
  const longest = lengths?.buckets.at(-1) ?? 0;
  const sized = inputs.map((input) => ({
    ...input,
    shape: input.shape.map((size, i) => (i > 0 && size < 0 ? longest : size)),
  }));
  return { name, batched, precision, inputBytes: bytesOf(sized, batched), lengths: lengths ?? null };
}

/** True if the first dimension of all its tensors is open, and the server does not say that it is not a batch. */
function isBatched({ inputs, outputs, maxBatch }: MeasurableModel): boolean {
  return inputs.length > 0 && maxBatch !== 0 && [...inputs, ...outputs].every(({ shape }) => shape[0] < 0);
}

/** Bytes of the outputs of one row, from an answer to `rows` of them. Throws if the number of rows differs. */
export function outputBytes(outputs: unknown, rows: number, { batched }: ServedModel): number {
  if (!isTensorList(outputs) || outputs.length === 0) throw new Error('it lists no outputs');
  for (const { name, shape } of outputs) {
    if (!batched || shape[0] === rows) continue;
    throw new Error(`its output ${plainLine(name)} has the shape [${shape.join(',')}]`);
  }
  const bytes = bytesOf(outputs, batched);
  if (Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new Error('its outputs have an impossible size');
}

/** Size of one row. Texts have no fixed size and are not counted. */
function bytesOf(tensors: readonly TensorDescription[], batched: boolean): number {
  return tensors.reduce((sum, { datatype, shape }) => {
    const elementBytes =
      datatype !== 'BYTES' && Object.hasOwn(DATATYPES, datatype)
        ? DATATYPES[datatype as keyof typeof DATATYPES].bytes
        : 0;
    const row = batched ? shape.slice(1) : shape;
    return sum + row.reduce((product, size) => product * size, elementBytes);
  }, 0);
}
