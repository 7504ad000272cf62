import { deflateSync, gunzipSync, gzipSync, type InputType, inflateSync, type ZlibOptions } from 'node:zlib';
import { Refusal } from '../refusal.js';
import type { JobResult } from './job-result.js';
import { ownBuffers } from './own-buffers.js';

/** Names of HTTP's content codings; gRPC has the same. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

interface InflateInput {
  readonly encoding: Compression;
  readonly body: Uint8Array;
  /** What `inflatedBytes` expects it to become. */
  readonly expectedBytes: number;
  /** It may not become larger. */
  readonly limitBytes: number;
}

/** Decompresses a body, as a job of codec threads. Throws a refusal. */
export function inflateBody(input: InflateInput): JobResult<Uint8Array> {
  const value = inflate(input);
  return { value, transfer: ownBuffers([value]) };
}

/** The same in the asking thread: for small bodies. Throws a refusal. */
export function inflate(input: InflateInput): Uint8Array<ArrayBuffer> {
  const { encoding, body, expectedBytes, limitBytes } = input;
  const chunkSize = Math.min(MOST_CHUNK_BYTES, Math.max(LEAST_CHUNK_BYTES, expectedBytes + 1));
  const options = { maxOutputLength: Math.max(1, limitBytes), chunkSize };
  try {
    return inflateWhole(encoding, body, options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new Refusal('tooLarge', `the body is larger than ${limitBytes} bytes when decompressed`);
    throw new Refusal('invalid', `the body is not valid ${encoding}: ${message}`);
  }
}

/** The same; null: it becomes larger than `mostBytes`, which is less than allowed. */
export function inflateSmall(input: InflateInput, mostBytes: number): Uint8Array<ArrayBuffer> | null {
  try {
    return inflate({ ...input, limitBytes: mostBytes });
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'tooLarge' && mostBytes < input.limitBytes) return null;
    throw error;
  }
}

/**
 * Decompresses all of `body`, with each member of gzip. Node passes over what follows a zlib stream, and over what follows
 * a member of gzip from the first zero byte on. Throws if there is such a rest.
 */
function inflateWhole(
  encoding: Compression,
  body: Uint8Array,
  options: ZlibOptions,
): Uint8Array<ArrayBuffer> {
  const { buffer, engine } = WITH_INFO[encoding](body, { ...options, info: true });
  const stray = body.length - engine.bytesWritten;
  if (stray === 0) return buffer;
  throw new Error(`${stray} ${stray === 1 ? 'byte follows' : 'bytes follow'} its end`);
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

/**
 * Size that a compressed body probably has, at most what it could have and at most `limitBytes`. Its gzip may have several
 * members, of which only the last one says its size where that can be seen. Throws a refusal if it is something else.
 */
export function inflatedBytes(encoding: Compression, body: Uint8Array, limitBytes: number): number {
  const most = Math.min(limitBytes, body.length * MOST_RATIO);
  if (encoding === 'deflate') return most;
  if (body.length < LEAST_GZIP_BYTES || body[0] !== 0x1f || body[1] !== 0x8b)
    throw new Refusal('invalid', 'the body is not valid gzip: it begins otherwise');
  // The last field of the gzip format.
  const view = new DataView(body.buffer, body.byteOffset + body.length - 4, 4);
  return Math.min(view.getUint32(0, true), most);
}

export function deflate(encoding: Compression, body: Uint8Array): Uint8Array {
  return encoding === 'gzip' ? gzipSync(body, FAST) : deflateSync(body, FAST);
}

/** More effort takes several times as long for a few percent. */
const FAST = { level: 1 };
/** Of its header and trailer alone. */
const LEAST_GZIP_BYTES = 18;
/** DEFLATE cannot do better. */
const MOST_RATIO = 1032;
const LEAST_CHUNK_BYTES = 1024;
const MOST_CHUNK_BYTES = 1024 * 1024;
