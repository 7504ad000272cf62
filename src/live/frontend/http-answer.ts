import { bytesAtLength } from '../lengths.js';
import { DATATYPES, type Datatype, type ModelSignature, type ServedModel, type Shape } from '../model.js';
import { bytesOfTexts } from '../texts.js';
import { ApiError } from './api-error.js';
import type { Call } from './call.js';
import { classesOf } from './classification.js';
import { type Compression, deflate } from './http-body.js';
import type { Inference, WantedOutput } from './inference.js';
import { jsonOfBytes } from './json-tensors.js';

/** One output of an answer. */
interface AnswerOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** Its data, requests one after the other; null: it follows as binary data. */
  readonly data: readonly Uint8Array[] | null;
  readonly bytes: number;
}

/** Content of an answer: its JSON and the binary tensors after it. Plain data. */
export interface Answer {
  readonly id: string | null;
  readonly name: string;
  readonly version: string;
  readonly batchSize: number;
  readonly sloMet: boolean;
  readonly outputs: readonly AnswerOutput[];
  readonly tensors: readonly Uint8Array[];
}

/** Builds the answer to a call that was executed. Throws an `ApiError`. */
export function answerOf(
  call: Call,
  { spec, version, signature, labels }: ServedModel,
  asked: Inference,
): Answer {
  const tensors: Uint8Array[] = [];
  const outputs = asked.outputs.map(({ index, binary, classes }): AnswerOutput => {
    const { name, datatype } = signature.outputs[index];
    let parts = call.answers.map((answer) => answer.outputs[index]);
    let type = datatype;
    let shape = call.shapeOf(index, signature);
    if (classes > 0) {
      const texts = classesOf({ name, datatype, labels: labels?.[index] ?? null }, parts, classes);
      const each = texts.length / call.count;
      parts = [bytesOfTexts(texts)];
      type = 'BYTES';
      shape = signature.batched ? [call.count, each] : [each];
    }
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (binary) tensors.push(...parts);
    return { name, datatype: type, shape, data: binary ? null : parts, bytes };
  });
  const { batchSize, sloMet } = call;
  return { id: asked.id, name: spec.name, version, batchSize, sloMet, outputs, tensors };
}

/** Bytes of tensors that an answer has in its JSON. */
export function jsonTensorBytes({ outputs }: Answer): number {
  return outputs.reduce((sum, { data, bytes }) => sum + (data === null ? 0 : bytes), 0);
}

/** The JSON of an answer. */
export function answerJson({ id, name, version, batchSize, sloMet, outputs }: Answer): string {
  const head = id === null ? '' : `"id":${JSON.stringify(id)},`;
  const all = outputs.map(outputJson).join(',');
  return `{${head}"model_name":${JSON.stringify(name)},"model_version":${JSON.stringify(version)},"parameters":{"batch_size":${batchSize},"slo_met":${sloMet}},"outputs":[${all}]}`;
}

function outputJson({ name, datatype, shape, data, bytes }: AnswerOutput): string {
  const head = `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape.join(',')}]`;
  if (data === null) return `${head},"parameters":{"binary_data_size":${bytes}}}`;
  return `${head},"data":[${data.map((part) => jsonOfBytes(datatype, part)).join(',')}]}`;
}

/** The JSON of a large answer as bytes, compressed if the client accepts that. */
export interface EncodeTask {
  readonly answer: Answer;
  readonly compression: Compression | null;
}

export function encodeAnswer({ answer, compression }: EncodeTask): Uint8Array<ArrayBuffer> {
  const text = answerJson(answer);
  return compression === null ? Buffer.from(text) : deflate(compression, text);
}

/**
 * Most bytes that an answer can take; free sizes count as 1, as they are not known yet. Throws an `ApiError` if that is more
 * than `limitBytes`.
 */
export function expectedBytes(signature: ModelSignature, asked: Inference, limitBytes: number): number {
  return checkedBound(
    asked.outputs.map((wanted) => {
      const output = signature.outputs[wanted.index];
      const bytes = asked.length > 0 ? bytesAtLength(output, asked.length) : output.bytes;
      return outputBound(wanted, output.datatype, asked.count * bytes);
    }),
    limitBytes,
  );
}

/** Upper bound on an answer's length, bytes, from its actual sizes. Throws an `ApiError`. */
export function boundOf({ outputs }: Answer, limitBytes: number): number {
  return checkedBound(
    outputs.map(({ datatype, data, bytes }) => outputBound({ binary: data === null }, datatype, bytes)),
    limitBytes,
  );
}

function checkedBound(bounds: readonly number[], limitBytes: number): number {
  const bound = bounds.reduce((sum, one) => sum + one, 0);
  if (bound <= limitBytes) return bound;
  throw new ApiError(
    'tooLarge',
    `the answer could have ${bound} bytes, of at most ${limitBytes}: ask for fewer outputs or a smaller batch, or for binary data`,
  );
}

/** Numbers in JSON are counted as the longest that their type can have. */
function outputBound({ binary }: Pick<WantedOutput, 'binary'>, datatype: Datatype, bytes: number): number {
  if (binary) return bytes;
  // A control character is six in JSON.
  return datatype === 'BYTES' ? 6 * bytes : (bytes / DATATYPES[datatype].bytes) * (LONGEST[datatype] + 1);
}

/** "-0.00006103515625", "-1.2345678901234567e-308". */
const FLOAT = 24;
const LONGEST: Readonly<Record<Exclude<Datatype, 'BYTES'>, number>> = {
  ...{ BOOL: 5, UINT8: 3, UINT16: 5, UINT32: 10, UINT64: 20, INT8: 4, INT16: 6, INT32: 11, INT64: 20 },
  ...{ FP16: FLOAT, FP32: FLOAT, FP64: FLOAT },
};
