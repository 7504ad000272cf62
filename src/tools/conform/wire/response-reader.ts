import { fail } from '../finding.js';
import { shown } from '../plain.js';
import { HttpAnswer } from './http-answer.js';

const MOST_HEAD_BYTES = 64 * 1024;

/** Reads responses from the bytes of a connection. Strict, as a server's answers should be. */
export class ResponseReader {
  private chunks: Buffer[] = [];
  private bytes = 0;
  /** Below so many bytes, another look is in vain. */
  private wanted = 0;

  constructor(private readonly maxBytes: number) {}

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
  }

  get bytesKept(): number {
    return this.bytes;
  }

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  /** The next whole answer, or null. `ended`: nothing more will come. Interim answers are passed over. */
  next(method: string, ended: boolean): HttpAnswer | null {
    if (this.bytes < this.wanted && !ended) return null;
    let all = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    for (;;) {
      this.chunks = [all];
      this.wanted = 0;
      const head = readHead(all);
      if (head !== null && head.status >= 200) return this.withBody(all, head, method, ended);
      if (head === null) {
        if (all.length > MOST_HEAD_BYTES) fail('the headers of the answer are longer than 64 KiB');
        return null;
      }
      this.drop(head.bytes);
      all = this.chunks[0] ?? Buffer.alloc(0);
    }
  }

  private withBody(all: Buffer, head: Head, method: string, ended: boolean): HttpAnswer | null {
    const { status, headers, bytes } = head;
    const closes = /\bclose\b/i.test(headers.get('connection') ?? '') || head.minor === 0;
    const answer = (body: Buffer, used: number, mustClose = closes) => {
      this.drop(used);
      return new HttpAnswer(status, headers, Buffer.from(body), mustClose);
    };
    if (method === 'HEAD' || status === 204 || status === 304) return answer(Buffer.alloc(0), bytes);
    if (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '')) {
      if (all.length > this.maxBytes) fail(tooLong(this.maxBytes));
      const read = readChunks(all, bytes);
      return read === null ? null : answer(read.body, read.used);
    }
    const length = headers.get('content-length');
    if (length !== undefined) {
      if (!/^\d+$/.test(length)) fail(`Content-Length is ${shown(length)}`);
      if (Number(length) > this.maxBytes) fail(tooLong(this.maxBytes));
      this.wanted = bytes + Number(length);
      return all.length < this.wanted ? null : answer(all.subarray(bytes, this.wanted), this.wanted);
    }
    if (all.length > this.maxBytes) fail(tooLong(this.maxBytes));
    return ended ? answer(all.subarray(bytes), all.length, true) : null;
  }

  private drop(bytes: number): void {
    const rest = this.chunks[0]!.subarray(bytes);
    this.chunks = rest.length === 0 ? [] : [rest];
    this.bytes = rest.length;
    this.wanted = 0;
  }
}

interface Head {
  readonly status: number;
  readonly minor: number;
  readonly headers: Map<string, string>;
  /** With the empty line that ends it. */
  readonly bytes: number;
}

function readHead(all: Buffer): Head | null {
  const end = all.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = all.toString('latin1', 0, end).split('\r\n');
  const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first);
  if (match === null) return fail(`the answer begins with ${shown(first)}, which is not HTTP/1.1`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) fail(`the answer has a header line ${shown(line)}`);
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { status: Number(match[2]), minor: Number(match[1]), headers, bytes: end + 4 };
}

/** A body in chunks from `start`; null: it is not complete. */
function readChunks(all: Buffer, start: number): { body: Buffer; used: number } | null {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const line = all.indexOf('\r\n', at);
    if (line < 0) return null;
    const text = all.toString('latin1', at, line).split(';')[0]!.trim();
    if (!/^[0-9a-f]{1,8}$/i.test(text)) fail(`the answer has a chunk of length ${shown(text)}`);
    const size = Number.parseInt(text, 16);
    at = line + 2;
    if (size === 0) break;
    if (all.length < at + size + 2) return null;
    parts.push(all.subarray(at, at + size));
    at += size + 2;
  }
  // Trailers, if there are any, end with an empty line as well.
  const ends = all.indexOf('\r\n', at) === at ? at + 2 : all.indexOf('\r\n\r\n', at) + 4;
  return ends < at + 2 ? null : { body: Buffer.concat(parts), used: ends };
}

function tooLong(maxBytes: number): string {
  return `the answer is longer than ${maxBytes} bytes`;
}
