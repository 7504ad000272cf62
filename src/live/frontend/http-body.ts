import { deflateSync, gunzipSync, gzipSync, type InputType, inflateSync, type ZlibOptions } from 'node:zlib';
import { KIB } from '../../base/units.js';
import { ApiError } from './api-error.js';
import type { Compression } from './headers.js';
import { LEAST_CHUNK_BYTES, MOST_TINY_CHUNKS } from './limits.js';

/** Smaller bodies stay where they came, perhaps next to others. */
const LEAST_OWN_BYTES = 16 * KIB;
/** The first buffer. The next one is for the whole body: pages that are not touched are free. */
const FIRST_BYTES = 128 * KIB;
const EMPTY = Buffer.alloc(0);

/** Where a body becomes one buffer while it arrives: it takes memory for what has come, not for what was announced. */
export class BodyBuffer {
  bytes = 0;
  private pieces = 0;
  private whole: Buffer = EMPTY;

  constructor(
    private readonly limitBytes: number,
    /** Announced length, bytes; −1: none. */
    private readonly announcedBytes: number,
  ) {}

  /** Takes the next piece. Throws an `ApiError`. */
  add(piece: Buffer): void {
    const bytes = this.bytes + piece.length;
    if (bytes > this.limitBytes) throw tooLarge(this.limitBytes);
    if (++this.pieces > MOST_TINY_CHUNKS && bytes < this.pieces * LEAST_CHUNK_BYTES)
      throw new ApiError(
        'invalid',
        `the body comes in chunks of less than ${LEAST_CHUNK_BYTES} bytes: send larger chunks`,
      );
    if (this.pieces === 1 && bytes < LEAST_OWN_BYTES) this.whole = piece;
    else {
      if (bytes > this.whole.length) this.grow(bytes);
      piece.copy(this.whole, this.bytes);
    }
    this.bytes = bytes;
  }

  /** The body, in a buffer of its own if it is large, so that it can move between threads. */
  finish(): Buffer {
    return this.whole.subarray(0, this.bytes);
  }

  private grow(leastBytes: number): void {
    const most = this.announcedBytes < 0 ? this.limitBytes : this.announcedBytes;
    const grown = Buffer.allocUnsafeSlow(leastBytes > FIRST_BYTES ? most : Math.min(FIRST_BYTES, most));
    this.whole.copy(grown, 0, 0, this.bytes);
    this.whole = grown;
  }
}

export function tooLarge(limitBytes: number): ApiError {
  return new ApiError('tooLarge', `the body is larger than ${limitBytes} bytes`);
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
