import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import { KIB } from '../../../base/units.js';
import type { Refusal } from '../refusal.js';
import { trailersOf } from './status.js';

export const RESPONSE_HEADERS = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': 'identity,deflate,gzip',
};

/**
 * Without a date, which gRPC has no use for: it costs 4 to 10 µs a call. Node looks at `sendDate` here, but its types have it only
 * for its other API.
 */
const NO_DATE: object = { sendDate: false };
/** An answer with trailers behind it. */
export const WITH_TRAILERS: ServerStreamResponseOptions = { waitForTrailers: true, ...NO_DATE };
const WHOLE: ServerStreamResponseOptions = { endStream: true, ...NO_DATE };

/** Answers a call at once, before anything of it was read. */
export function refuseStream(stream: ServerHttp2Stream, refusal: Refusal): void {
  stream.respond({ ...RESPONSE_HEADERS, ...trailersOf(refusal) }, WHOLE);
  letGo(stream);
}

/** What a client may still send of a call that has its answer: it may be in the middle of a message. */
const MAX_LEFTOVER_BYTES = 256 * KIB;
const LEFTOVER_MS = 1000;

/**
 * Ends a stream that has its answer, if its client does not. Not at once: closing it may overtake its last frame.
 */
export function letGo(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.destroyed) return;
  let left = MAX_LEFTOVER_BYTES;
  const close = () => stream.close(constants.NGHTTP2_NO_ERROR);
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    // Not while Node works with the stream: it must not be freed under it.
    if (left < 0) setImmediate(close);
  });
  stream.resume();
  const timer = setTimeout(close, LEFTOVER_MS);
  stream.once('close', () => clearTimeout(timer));
}
