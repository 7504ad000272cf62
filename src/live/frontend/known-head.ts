import type { IncomingHttpHeaders } from 'node:http';
import { KIB } from '../../base/units.js';
import { isInfer } from './http-allow.js';
import type { FrontendRequest } from './http-request.js';

/** Of a request that is small, and may come again. */
const MOST_HEAD_BYTES = 4 * KIB;
const MOST_BODY_BYTES = 16 * KIB - 1;

/**
 * The head of an infer request that Node has parsed. Most clients send the same one again and again: what comes with the
 * same bytes means the same, and need not be parsed. Only the number of bytes that follow may differ.
 */
export class KnownHead {
  private constructor(
    /** Up to the value of `content-length`, and from its end on. */
    private readonly begin: Buffer,
    private readonly rest: Buffer,
    readonly headers: IncomingHttpHeaders,
    readonly path: string,
  ) {}

  /**
   * The head of `request`, for which Node was given `bytes` when it was done with all before; null: these are not that
   * request and nothing else, or its head had better be looked at each time.
   */
  static of(bytes: Buffer, request: FrontendRequest): KnownHead | null {
    const { headers, path, entry, method, url, announcedBytes } = request;
    if (method !== 'POST' || entry === null || !isInfer(path) || !request.complete) return null;
    if (request.httpVersionMinor !== 1 || request.asksFirst || request.isChunked) return null;
    const headBytes = bytes.indexOf(END) + END.length;
    if (headBytes < END.length || headBytes > MOST_HEAD_BYTES || headBytes + announcedBytes !== bytes.length)
      return null;
    const head = bytes.toString('latin1', 0, headBytes);
    // Node would have read something else if there had been the beginning of a request before these bytes.
    if (!head.startsWith(`POST ${url} HTTP/1.1\r\n`) || !PLAIN_LINES.test(head)) return null;
    const lengths = [...head.matchAll(LENGTH)];
    if (lengths.length !== 1) return null;
    const from = lengths[0].index + lengths[0][1].length;
    const to = from + lengths[0][2].length;
    // What stays is copied: it was part of a larger buffer.
    const part = (text: string) => Buffer.from(text, 'latin1');
    return new KnownHead(part(head.slice(0, from)), part(head.slice(to)), headers, path);
  }

  /** The body, if `bytes` are a request with this head and nothing else; null: they are not, or it is not small. */
  bodyIn(bytes: Buffer): Buffer | null {
    const { begin, rest } = this;
    if (bytes.length < begin.length + rest.length + 1) return null;
    if (bytes.compare(begin, 0, begin.length, 0, begin.length) !== 0) return null;
    let at = begin.length;
    let length = 0;
    for (; at < bytes.length && bytes[at] >= ZERO && bytes[at] <= NINE; at++) {
      length = 10 * length + bytes[at] - ZERO;
      if (length > MOST_BODY_BYTES) return null;
    }
    const end = at + rest.length;
    if (at === begin.length || end + length !== bytes.length) return null;
    if (bytes.compare(rest, 0, rest.length, at, end) !== 0) return null;
    return bytes.subarray(end);
  }
}

const END = '\r\n\r\n';
const ZERO = 0x30;
const NINE = 0x39;
/** No line ends otherwise, or goes on in the next one. */
const PLAIN_LINES = /^(?:[^\r\n \t][^\r\n]*\r\n)+\r\n$/;
const LENGTH = /(\r\ncontent-length:[ \t]*)(\d+)(?=\r\n)/gi;
