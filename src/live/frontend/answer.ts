import TinyQueue from 'tinyqueue';
import { fromHalf } from '../half.js';
import { bytesAtLength } from '../lengths.js';
import { DATATYPES, type Datatype, type ModelSignature, type ServedModel, type Shape } from '../model.js';
import { bytesOfTexts } from '../texts.js';
import { ApiError, shown } from './api-error.js';
import type { Call } from './call.js';
import type { Inference } from './inference.js';
import { viewOf } from './json-tensors.js';
import { MOST_CLASSIFIED } from './limits.js';

/** One output of an answer. */
export interface AnswerOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Its data, requests one after the other. */
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
  /** Over HTTP: it follows the JSON as binary data. */
  readonly binary: boolean;
}

/** Content of an answer, over either protocol. Plain data. */
export interface Answer {
  readonly id: string | null;
  readonly name: string;
  readonly version: string;
  readonly batchSize: number;
  readonly sloMet: boolean;
  readonly outputs: readonly AnswerOutput[];
}

/** Builds the answer to a call; throws the `ApiError` that became of it. */
export function answerOf(call: Call, { spec, version, signature, labels }: ServedModel): Answer {
  const apiError = call.apiError();
  if (apiError !== null) throw apiError;
  const { batchSize, sloMet } = call;
  const { id, count, outputs } = call.inference;
  return {
    ...{ id, name: spec.name, version, batchSize, sloMet },
    outputs: outputs.map(({ index, binary, classes }): AnswerOutput => {
      const { name, datatype } = signature.outputs[index];
      const rows = call.answers.map((answer) => answer.outputs[index]);
      if (classes === 0)
        return {
          name,
          datatype,
          shape: call.shapeOf(index, signature),
          parts: rows,
          bytes: sizeOf(rows),
          binary,
        };
      const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, rows, classes);
      const each = texts.length / count;
      const parts = [bytesOfTexts(texts)];
      const shape = signature.batched ? [count, each] : [each];
      return { name, datatype: 'BYTES', shape, parts, bytes: sizeOf(parts), binary };
    }),
  };
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Most bytes that an answer can take; free sizes count as 1, as they are not known yet. Throws an `ApiError` if that is more
 * than `limitBytes`.
 */
export function expectedBytes(signature: ModelSignature, asked: Inference, limitBytes: number): number {
  const outputs = asked.outputs.map(({ index, binary }) => {
    const output = signature.outputs[index];
    const bytes = asked.length > 0 ? bytesAtLength(output, asked.length) : output.bytes;
    return { datatype: output.datatype, bytes: asked.count * bytes, binary };
  });
  return mostBytes(outputs, limitBytes);
}

/** Most bytes that outputs can take in an answer, numbers in JSON counted as the longest of their type. Throws an `ApiError`. */
export function mostBytes(
  outputs: readonly Pick<AnswerOutput, 'datatype' | 'bytes' | 'binary'>[],
  limitBytes: number,
): number {
  let most = 0;
  for (const { datatype, bytes, binary } of outputs)
    if (binary) most += bytes;
    // A control character is six in JSON.
    else if (datatype === 'BYTES') most += 6 * bytes;
    else most += (bytes / DATATYPES[datatype].bytes) * (LONGEST[datatype] + 1);
  if (most <= limitBytes) return most;
  throw new ApiError(
    'tooLarge',
    `the answer could have ${most} bytes, of at most ${limitBytes}: ask for fewer outputs or a smaller batch, or for binary data`,
  );
}

/** "-0.00006103515625", "-1.2345678901234567e-308". */
const FLOAT = 24;
const LONGEST: Readonly<Record<Exclude<Datatype, 'BYTES'>, number>> = {
  ...{ BOOL: 5, UINT8: 3, UINT16: 5, UINT32: 10, UINT64: 20, INT8: 4, INT16: 6, INT32: 11, INT64: 20 },
  ...{ FP16: FLOAT, FP32: FLOAT, FP64: FLOAT },
};

/** An output, as texts instead of numbers. */
interface ClassifiedOutput {
  readonly name: string;
  readonly datatype: Datatype;
  /** Names of its elements; null: they have none. */
  readonly labels: readonly string[] | null;
}

/**
 * The `count` largest elements of each row of an output as "value:index" or "value:index:label", the largest first
 * (classification extension). Throws an `ApiError` for an output without numbers, or with too many.
 */
function classesOf(
  { name, datatype, labels }: ClassifiedOutput,
  rows: readonly Uint8Array[],
  count: number,
): string[] {
  if (datatype === 'BYTES') throw new ApiError('invalid', `output ${shown(name)}: texts have no classes`);
  const texts: string[] = [];
  let elements = 0;
  for (const row of rows) {
    const values = numbersOf(datatype, row);
    elements += values.length;
    if (elements > MOST_CLASSIFIED)
      throw new ApiError(
        'tooLarge',
        `output ${shown(name)}: more than ${MOST_CLASSIFIED} elements to classify`,
      );
    for (const index of largest(values, Math.min(count, values.length))) {
      const label = labels?.[index];
      texts.push(label === undefined ? `${values[index]}:${index}` : `${values[index]}:${index}:${label}`);
    }
  }
  return texts;
}

function numbersOf(datatype: Datatype, row: Uint8Array): ArrayLike<number> {
  const view = viewOf(datatype, row);
  if (datatype === 'FP16') return Float64Array.from(view as Uint16Array, fromHalf);
  if (datatype === 'INT64' || datatype === 'UINT64') return Float64Array.from(view as BigInt64Array, Number);
  return view as Float64Array;
}

/** Indices of the largest values, the largest first, the first of equal ones first. */
function largest(values: ArrayLike<number>, count: number): readonly number[] {
  const top = new TinyQueue<number>([], (a, b) => compare(values[a], values[b]) || b - a);
  for (let index = 0; index < values.length; index++) {
    const least = top.length < count ? undefined : top.peek();
    if (least !== undefined && compare(values[index], values[least]) <= 0) continue;
    if (least !== undefined) top.pop();
    top.push(index);
  }
  return Array.from({ length: top.length }, () => top.pop() as number).reverse();
}

/** NaN is no size, so it comes last. */
function compare(a: number, b: number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
  if (Number.isNaN(b)) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
