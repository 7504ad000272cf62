import { gunzipSync, inflateSync } from 'node:zlib';
import { Refusal } from '../refusal.js';
import type { JobResult } from './job-result.js';

type Compression = 'gzip' | 'deflate';

interface InflateInput {
  readonly encoding: Compression;
  readonly body: Uint8Array;
  /** It may not become larger. */
  readonly limitBytes: number;
}

/** Decompresses a body. Throws a refusal. */
export function inflateBody(input: InflateInput): JobResult<Uint8Array> {
  const value = inflate(input);
  return { value, transfer: value.byteLength === value.buffer.byteLength ? [value.buffer] : [] };
}

/** The same in the asking thread: for small bodies. Throws a refusal. */
function inflate({ encoding, body, limitBytes }: InflateInput): Uint8Array<ArrayBuffer> {
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

const LEAST_CHUNK_BYTES = 1024;
const MOST_CHUNK_BYTES = 1024 * 1024;
