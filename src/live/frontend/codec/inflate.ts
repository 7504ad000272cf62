import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { Refusal } from '../refusal.js';
import type { JobResult } from './job-result.js';
import { ownBuffers } from './own-buffers.js';

/** Names of HTTP's content codings; gRPC has the same. `deflate` is the zlib format. */
export type Compression = 'gzip' | 'deflate';

interface InflateInput {
  readonly encoding: Compression;
  readonly body: Uint8Array;
  /** It may not become larger. */
  readonly limitBytes: number;
}

/** Decompresses a body, as a job of codec threads. Throws a refusal. */
export function inflateBody(input: InflateInput): JobResult<Uint8Array> {
  const value = inflate(input);
  return { value, transfer: ownBuffers([value]) };
}

/** The same in the asking thread: for small bodies. Throws a refusal. */
export function inflate({ encoding, body, limitBytes }: InflateInput): Uint8Array<ArrayBuffer> {
  const chunkSize = Math.min(MOST_CHUNK_BYTES, Math.max(LEAST_CHUNK_BYTES, limitBytes + 1));
  const options = { maxOutputLength: Math.max(1, limitBytes), chunkSize };
  try {
    const whole = encoding === 'gzip' ? gunzipSync(body, options) : inflateSync(body, options);
    return whole as Uint8Array<ArrayBuffer>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new Refusal('tooLarge', `the body is larger than ${limitBytes} bytes when decompressed`);
    throw new Refusal('invalid', `the body is not valid ${encoding}: ${message}`);
  }
}

/** Size that a compressed body says it has; at most what it could have. Never more than `limitBytes`, by a refusal. */
export function inflatedBytes(encoding: Compression, body: Uint8Array, limitBytes: number): number {
  const most = Math.min(limitBytes, body.length * MOST_RATIO);
  if (encoding === 'deflate') return most;
  if (body.length < LEAST_GZIP_BYTES || body[0] !== 0x1f || body[1] !== 0x8b)
    throw new Refusal('invalid', 'the body is not valid gzip: it begins otherwise');
  // The last field of the gzip format.
  const view = new DataView(body.buffer, body.byteOffset + body.length - 4, 4);
  const declared = view.getUint32(0, true);
  if (declared <= limitBytes) return Math.min(declared, most);
  throw new Refusal('tooLarge', `the body is larger than ${limitBytes} bytes when decompressed`);
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
