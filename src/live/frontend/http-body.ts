import type { IncomingHttpHeaders } from 'node:http';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { move, Piscina, transferableSymbol, valueSymbol } from 'piscina';
import { compiledNextTo } from '../../base/compiled.js';
import { usableCores } from '../../base/limits/usable.js';
import { MIB } from '../../base/units.js';
import type { ServedModel } from '../model.js';
import { isAlone, LARGE_BYTES } from '../transfer.js';
import { passOnWarnings } from '../warnings.js';
import { ApiError, type ApiErrorKind, asApiError, shown } from './api-error.js';
import type { Answer, AnswerOutput } from './call.js';
import { type Inference, type InferenceLimits, readInference, wholeBody } from './inference.js';
import { bytesOfJson, jsonOfBytes, ownBuffers, parseObject } from './json.js';
import { CODEC_IDLE_MS, CODEC_TIMEOUT_MS, type Limits, MOST_CODEC_QUEUE } from './limits.js';

/** Decompresses a body. Throws an `ApiError` for one of more than `limitBytes`. */
export function inflate(
  compression: Compression,
  body: Uint8Array,
  limitBytes: number,
): Uint8Array<ArrayBuffer> {
  const inflated = compression === 'gzip' ? gunzipSync : inflateSync;
  try {
    return inflated(body, { maxOutputLength: Math.max(1, limitBytes) }) as Uint8Array<ArrayBuffer>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError('tooLarge', `the body is larger than ${limitBytes} bytes when decompressed`);
    throw new ApiError('invalid', `the body is not valid ${compression}: ${message}`);
  }
}

/** More effort takes several times as long for a few percent. */
const FAST = { level: 1 };

function deflate(compression: Compression, text: string): Uint8Array<ArrayBuffer> {
  return (compression === 'gzip' ? gzipSync : deflateSync)(text, FAST) as Uint8Array<ArrayBuffer>;
}

/** The body of an infer request, and its requirements. Plain data. */
export interface DecodeTask {
  /** The body, as it came. */
  readonly pieces: readonly Uint8Array[];
  readonly compression: Compression | null;
  /** `inference-header-content-length`: the bytes of JSON at its beginning. Absent: all of it. */
  readonly jsonHeader: string | undefined;
  readonly model: ServedModel;
  readonly limits: InferenceLimits & Pick<Limits, 'maxJsonBytes'>;
}

/** Reads JSON, and the binary tensors behind it (binary tensor data extension). Throws an `ApiError`. */
export function decodeBody({ pieces, compression, jsonHeader, model, limits }: DecodeTask): Inference {
  const isWhole = pieces.length === 1 && pieces[0].length <= LARGE_BYTES;
  // What is large gets a buffer of its own, so that it can move between threads.
  const sent = isWhole ? pieces[0] : Buffer.concat(pieces);
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

function encodeAnswer({ answer, compression }: EncodeTask): Uint8Array<ArrayBuffer> {
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

const MOST_THREADS = 4;
export const CODEC_THREADS = Math.max(1, Math.min(MOST_THREADS, Math.floor(usableCores() / 2)));
const LEAST_HEAP_MIB = 128;
/** Memory for parsing the costliest JSON, bytes per byte: "[]," makes a list of every third. */
const HEAP_PER_BYTE = 48;

/** Low-priority threads for bodies and answers that would delay others; started with the first one. */
export class Codec {
  private pool: Piscina | null = null;
  /** Tasks under way. */
  private open = 0;

  constructor(
    private readonly maxJsonBytes: number,
    private readonly timeoutMs = CODEC_TIMEOUT_MS,
  ) {}

  /** Rejects with an `ApiError`. The body moves to the other thread. */
  decode({ limits, model, pieces, ...task }: DecodeTask): Promise<Inference> {
    const { maxBatch, maxBodyBytes, maxJsonBytes, defaultSloNs, classes } = limits;
    const plain = { maxBatch, maxBodyBytes, maxJsonBytes, defaultSloNs, classes };
    const body = pieces.every(isAlone) ? pieces : [Buffer.concat(pieces)];
    // Labels may be many, and reading needs none.
    const whole = { ...task, pieces: body, limits: plain, model: { ...model, labels: null } };
    return this.run('decode', whole, body);
  }

  /** Rejects with an `ApiError`. Tensors that are part of a larger buffer are copied: others may be in it. */
  encode({ answer, compression }: EncodeTask): Promise<Uint8Array> {
    const own = (tensor: Uint8Array) => (isAlone(tensor) ? tensor : new Uint8Array(tensor));
    const outputs = answer.outputs.map((output) => ({
      ...output,
      parts: output.binary ? [] : output.parts.map(own),
    }));
    const moved = outputs.flatMap(({ parts }) => parts);
    return this.run('encode', { answer: { ...answer, outputs }, compression }, moved);
  }

  async close(): Promise<void> {
    await this.pool?.destroy();
  }

  private async run<T>(name: string, task: unknown, tensors: readonly Uint8Array[]): Promise<T> {
    this.pool ??= new Piscina({
      filename: compiledNextTo(import.meta.url, 'codec-thread.cjs').href,
      minThreads: 0,
      idleTimeout: CODEC_IDLE_MS,
      maxThreads: CODEC_THREADS,
      niceIncrement: 10,
      resourceLimits: {
        maxOldGenerationSizeMb: LEAST_HEAP_MIB + Math.ceil((HEAP_PER_BYTE * this.maxJsonBytes) / MIB),
      },
    });
    const waits = this.open - CODEC_THREADS;
    if (waits >= MOST_CODEC_QUEUE)
      throw new ApiError('tooBusy', 'too many large bodies wait to be decoded: try again later');
    const signal = AbortSignal.timeout(this.timeoutMs);
    let result: CodecResult<T>;
    this.open++;
    try {
      result = await this.pool.run(task, { name, signal, transferList: ownBuffers(tensors) });
    } catch (error) {
      const late = `not decoded or encoded within ${this.timeoutMs / 1000} s`;
      if (signal.aborted && waits >= 0) throw new ApiError('tooBusy', `${late}: try again later`);
      // Without a wait for others, it would be too late again. Otherwise its thread has ended, for want of memory.
      const why = signal.aborted ? late : (error as Error).message;
      throw new ApiError('tooLarge', `decoding or encoding this is given up: ${why}`);
    } finally {
      this.open--;
    }
    if ('value' in result) return result.value;
    throw new ApiError(result.kind, result.message);
  }
}

/** Errors lose their class on the way between threads. */
type CodecResult<T> = { readonly value: T } | { readonly kind: ApiErrorKind; readonly message: string };

if (Piscina.isWorkerThread) passOnWarnings('codec');

export const decode = job(decodeBody, ({ inputs }) => inputs);
export const encode = job(encodeAnswer, (text) => [text]);

/** Makes a job that hands its tensors over. */
function job<Task, T>(act: (task: Task) => T, tensorsOf: (value: T) => readonly Uint8Array[]) {
  return (task: Task): unknown => {
    try {
      const value = act(task);
      return move({ [transferableSymbol]: ownBuffers(tensorsOf(value)), [valueSymbol]: { value } });
    } catch (error) {
      const { kind, message } = asApiError(error);
      return { kind, message } satisfies CodecResult<T>;
    }
  };
}

/** A content coding that is supported. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

const CODINGS: ReadonlyMap<string, Compression | null> = new Map([
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** Coding of the body; null: it is not compressed. Throws an `ApiError`. */
export function contentEncoding({
  'content-encoding': encoding = '',
}: IncomingHttpHeaders): Compression | null {
  const coding = CODINGS.get(encoding.toLowerCase());
  if (coding !== undefined) return coding;
  const advice = 'send gzip, deflate or the body as it is';
  throw new ApiError('encoding', `content-encoding ${shown(encoding)} is not supported: ${advice}`);
}

/** Coding for a large answer that the client accepts (RFC 9110, 12.5.3), gzip rather than deflate; null: neither. */
export function acceptedEncoding({ 'accept-encoding': accepted }: IncomingHttpHeaders): Compression | null {
  // Repeated, the header comes as one text.
  const codings = String(accepted ?? '').toLowerCase();
  return (['gzip', 'deflate'] as const).find((coding) => ACCEPTED[coding].test(codings)) ?? null;
}

/** The coding with another weight than 0. */
const ACCEPTED: Readonly<Record<Compression, RegExp>> = {
  gzip: /(?:^|[\s,])(?:x-)?gzip\s*(?:$|,|;\s*q=(?:1|0\.0*[1-9]))/,
  deflate: /(?:^|[\s,])deflate\s*(?:$|,|;\s*q=(?:1|0\.0*[1-9]))/,
};
