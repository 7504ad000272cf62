import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import type { FrontendRequest } from './http-request.js';

/** What Node's HTTP server keeps at a connection, which it does not document. */
interface ParsedSocket extends Socket {
  /** Of this connection; null: it has ended. */
  readonly parser?: object | null;
  /** Its answers are not read, so that nothing is parsed until they are. */
  readonly _paused?: boolean;
}

/** What Node's parser gets at a time where requests may begin: the shortest have 18 bytes. */
const PIECE_BYTES = KIB;
/** The same within a body of unknown length. */
const CHUNKED_PIECE_BYTES = 4 * KIB;

/**
 * Once it is attached, gives Node's parser what comes on a connection, a piece at a time, and holds the rest back once a piece had several
 * requests. Node itself parses all that the system gives at once, and other connections wait for more than a thousand
 * requests; but for clients that wait for their answers it is faster.
 */
export class ParserFeed {
  private readonly socket: ParsedSocket;
  private readonly parser: ParsedSocket['parser'];
  /** Node's own listener; null: it reads by itself. */
  private parse: ((bytes: Buffer) => void) | null = null;
  private rest: Buffer | null = null;
  /** Of the body that comes, at most; −1: unknown. */
  private bodyBytes = 0;
  private requests = 0;

  /** `hold`: called when it holds bytes back. */
  constructor(
    socket: Socket,
    private readonly hold: () => void,
  ) {
    this.socket = socket;
    this.parser = this.socket.parser;
  }

  /** From what is read next on. */
  attach(): void {
    const { socket } = this;
    if (this.parse !== null || socket.destroyed || socket.parser !== this.parser) return;
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    // A version of Node that reads in another way: it may do so.
    if (parse === undefined) return;
    this.parse = parse;
    socket.on('data', (bytes: Buffer) => this.take(bytes));
    socket.removeListener('data', parse);
  }

  get isHolding(): boolean {
    return this.rest !== null;
  }

  /** The parser takes nothing until the client has read answers; the socket resumes then. */
  get isBlocked(): boolean {
    return this.socket._paused === true;
  }

  /** The headers of a request are complete. */
  began(request: FrontendRequest): void {
    this.requests++;
    this.bodyBytes = request.announcedBytes;
  }

  /** Has a little of what it holds back parsed; false: there is nothing. */
  parseMore(): boolean {
    const { rest } = this;
    if (rest === null || this.isBlocked) return false;
    this.rest = null;
    const parsed = this.parseSome(rest);
    if (parsed < rest.length) this.rest = rest.subarray(parsed);
    return true;
  }

  /** What it holds back is not wanted any more. */
  drop(): void {
    this.rest = null;
  }

  private take(bytes: Buffer): void {
    const { rest } = this;
    if (rest !== null) {
      this.rest = Buffer.concat([rest, bytes]);
      return;
    }
    const parsed = this.parseSome(bytes);
    if (parsed === bytes.length) return;
    this.rest = bytes.subarray(parsed);
    this.hold();
  }

  /** Parses until several requests have begun. Returns the bytes that are done. */
  private parseSome(bytes: Buffer): number {
    const { requests } = this;
    let at = 0;
    while (at < bytes.length && this.requests <= requests + 1) {
      // What comes after the end of a connection, or of what is HTTP, is not looked at.
      if (this.socket.parser !== this.parser) return bytes.length;
      if (this.isBlocked) return at;
      const before = this.requests;
      const piece =
        at === 0 && bytes.length <= PIECE_BYTES ? bytes : bytes.subarray(at, at + this.pieceBytes);
      this.parse?.(piece);
      at += piece.length;
      if (this.requests === before && this.bodyBytes > 0)
        this.bodyBytes = Math.max(0, this.bodyBytes - piece.length);
    }
    return at;
  }

  private get pieceBytes(): number {
    return this.bodyBytes < 0 ? CHUNKED_PIECE_BYTES : Math.max(PIECE_BYTES, this.bodyBytes);
  }
}
