import { deflateSync, gunzipSync, gzipSync, type InputType, inflateSync, type ZlibOptions } from 'node:zlib';
import type { ServedModel } from '../model.js';
import { ApiError, shown } from './api-error.js';
import { type Inference, type InferenceLimits, readInference, wholeBody } from './inference.js';
import { parseObject } from './json.js';
import { bytesOfJson } from './json-tensors.js';
import type { Limits } from './limits.js';
import { binarySize } from './parameters.js';

/** A content coding that is supported. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

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
  const inference = readInference(
    { id, parameters, inputs, outputs },
    model,
    limits,
    (input, name, datatype) => {
      const { data = null } = input;
      const bytes = binarySize(input.parameters, name);
      if (bytes < 0) return bytesOfJson(name, datatype, input.shape as number[], data);
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
    },
  );
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

/**
 * Decompresses all of a body, with each member of gzip. Throws an `ApiError` for more than `limitBytes`, and for what follows its
 * end: Node passes over that.
 */
export function inflate(
  compression: Compression,
  body: Uint8Array,
  limitBytes: number,
): Uint8Array<ArrayBuffer> {
  try {
    const { buffer, engine } = WITH_INFO[compression](body, {
      maxOutputLength: Math.max(1, limitBytes),
      info: true,
    });
    const stray = body.length - engine.bytesWritten;
    if (stray === 0) return buffer;
    throw new Error(`${stray} ${stray === 1 ? 'byte follows' : 'bytes follow'} its end`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError('tooLarge', `the body is larger than ${limitBytes} bytes when decompressed`);
    throw new ApiError('invalid', `the body is not valid ${compression}: ${message}`);
  }
}

/** Says how much of its input it read. Node's types leave `info` out. */
type InflateWithInfo = (
  body: InputType,
  options: ZlibOptions & { readonly info: true },
) => { readonly buffer: Buffer<ArrayBuffer>; readonly engine: { readonly bytesWritten: number } };

const WITH_INFO: Readonly<Record<Compression, InflateWithInfo>> = {
  gzip: gunzipSync as unknown as InflateWithInfo,
  deflate: inflateSync as unknown as InflateWithInfo,
};

/** More effort takes several times as long for a few percent. */
const FAST = { level: 1 };

export function deflate(compression: Compression, text: string): Uint8Array<ArrayBuffer> {
  return (compression === 'gzip' ? gzipSync : deflateSync)(text, FAST) as Uint8Array<ArrayBuffer>;
}
