import { EscapementError } from '../../base/errors.js';
import { DATATYPES } from '../../live/model.js';
import { isTensorList, type LengthDescription, type ModelDescription } from '../../load/description.js';
import { plainLine } from '../../load/reply.js';
import type { TensorDescription } from '../../load/tensors.js';

/** A model as its server describes it, as far as measuring it from outside depends on that. */
export interface ServedModel {
  readonly name: string;
  /** Its first dimension is open, so a request may have several rows. */
  readonly batched: boolean;
  /** Number format of its first input. */
  readonly precision: string;
  /** Of one row, of the longest length. */
  readonly inputBytes: number;
  /** Null: its inputs have one length. */
  readonly lengths: LengthDescription | null;
}

/**
 * Throws `E_UNKNOWN_MODEL` where a dimension other than that of the batch is open and the server does not say its lengths:
 * requests of any size would differ.
 */
export function servedModel(name: string, { inputs, outputs, lengths }: ModelDescription): ServedModel {
  const batched = inputs.length > 0 && [...inputs, ...outputs].every(({ shape }) => shape[0] < 0);
  for (const input of inputs) {
    const fixed = batched ? input.shape.slice(1) : input.shape;
    if (lengths !== undefined || fixed.every((size) => size >= 0)) continue;
    const what = `input ${plainLine(input.name)} is ${plainLine(input.datatype)} [${input.shape.join(',')}]`;
    throw new EscapementError(
      'E_UNKNOWN_MODEL',
      `model ${plainLine(name)}: ${what}, and only the first dimension, of the batch, may be open unless the server says which lengths it takes: how long it takes depends on the others, so serve it with fixed ones`,
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

/**
 * Bytes of the outputs of one row, of an answer to `rows` of them. Throws an `Error` that says what is wrong where the answer
 * does not have as many rows.
 */
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

/** Of one row. Texts have no fixed size and are not counted. */
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
