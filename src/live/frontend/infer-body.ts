import type { ServedModel } from '../model.js';
import type { Answer, AnswerOutput } from './answer.js';
import { ApiError, shown } from './api-error.js';
import type { Compression } from './headers.js';
import { deflate, inflate } from './http-body.js';
import { type Inference, type InferenceLimits, readInference, wholeBody } from './inference.js';
import { parseObject } from './json.js';
import { bytesOfJson, jsonOfBytes } from './json-tensors.js';
import type { Limits } from './limits.js';

/** The body of an infer request, and what it must fit. Plain data. */
export interface DecodeTask {
  readonly body: Uint8Array;
  readonly compression: Compression | null;
  /** `inference-header-content-length`: the bytes of JSON at its beginning. Absent: all of it. */
  readonly jsonHeader: string | undefined;
  readonly model: ServedModel;
  readonly limits: InferenceLimits & Pick<Limits, 'maxJsonBytes'>;
}

/** Reads JSON, and the binary tensors behind it (binary tensor data extension). Throws an `ApiError`. */
export function decodeBody({ body: sent, compression, jsonHeader, model, limits }: DecodeTask): Inference {
  const body = compression === null ? sent : inflate(compression, sent, limits.maxBodyBytes);
  const jsonBytes = jsonLength(jsonHeader, body.length);
  if (jsonBytes > limits.maxJsonBytes)
    throw new ApiError(
      'tooLarge',
      `the JSON has ${jsonBytes} bytes, of at most ${limits.maxJsonBytes}: send large tensors as binary data`,
    );
  if (jsonBytes === 0) return wholeBody(body, model, limits);
  const isExact = model.signature.inputs.some(({ datatype }) => datatype.endsWith('INT64'));
  const { id = null, parameters, inputs, outputs } = parseObject(body, jsonBytes, isExact);
  if (id !== null && typeof id !== 'string')
    throw new ApiError('invalid', `id: expected a string, got ${shown(id)}`);
  let at = jsonBytes;
  const message = { id, parameters, inputs, outputs };
  const inference = readInference(message, model, limits, ({ data = null }, tensor) => {
    const { name, datatype, shape, binaryBytes: bytes } = tensor;
    if (bytes < 0) return bytesOfJson(name, datatype, shape, data);
    if (data !== null)
      throw new ApiError('invalid', `input ${shown(name)}: has both data and binary_data_size`);
    const left = body.length - at;
    if (bytes > left)
      throw new ApiError(
        'invalid',
        `input ${shown(name)}: binary_data_size is ${bytes}, but ${left} bytes are left`,
      );
    at += bytes;
    return body.subarray(at - bytes, at);
  });
  if (at === body.length) return inference;
  const stray = body.length - at;
  throw new ApiError('invalid', `the body has ${stray} bytes of binary data that belong to no input`);
}

/** Bytes of JSON at the beginning of a body; 0: the body is one input, without any. Throws an `ApiError`. */
function jsonLength(header: string | undefined, bodyBytes: number): number {
  if (header === undefined) {
    if (bodyBytes > 0) return bodyBytes;
    throw new ApiError('invalid', 'the body is not JSON: it is empty');
  }
  const length = /^\d{1,15}$/.test(header) ? Number(header) : Number.POSITIVE_INFINITY;
  if (length <= bodyBytes) return length;
  throw new ApiError(
    'invalid',
    `header Inference-Header-Content-Length: expected at most the body's ${bodyBytes} bytes, got ${shown(header)}`,
  );
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

/** The JSON of an answer. */
export function answerJson({ id, name, version, batchSize, sloMet, outputs }: Answer): string {
  const head = id === null ? '' : `"id":${JSON.stringify(id)},`;
  const all = outputs.map(outputJson).join(',');
  return `{${head}"model_name":${JSON.stringify(name)},"model_version":${JSON.stringify(version)},"parameters":{"batch_size":${batchSize},"slo_met":${sloMet}},"outputs":[${all}]}`;
}

function outputJson({ name, datatype, shape, parts, bytes, binary }: AnswerOutput): string {
  const head = `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape.join(',')}]`;
  if (binary) return `${head},"parameters":{"binary_data_size":${bytes}}}`;
  return `${head},"data":[${parts.map((part) => jsonOfBytes(datatype, part)).join(',')}]}`;
}
