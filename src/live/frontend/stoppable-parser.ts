import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import type { ParserError } from './http-problem.js';

/** What Node's HTTP server keeps at a connection, which it does not document. */
interface ParsedSocket extends Socket {
  /** Of this connection; null: it has ended. */
  readonly parser?: HttpParser | null;
  /** Its answers are not read, so that nothing is parsed until they are. */
  readonly _paused?: boolean;
}

interface HttpParser {
  /** Called when the headers of a request are complete. llhttp goes on or stops as it returns. */
  onIncoming?: ((request: object, keepAlive: boolean) => number) | null;
  resume?(): void;
}

/** llhttp goes on with the body of the request. */
const GO_ON = 0;
/** llhttp stops, and reports `HPE_PAUSED` with the place where it did. */
const STOP = 21;

/** A request whose body comes in chunks. */
interface Chunked {
  readonly complete: boolean;
}

/**
 * Node's parser of a connection, which can stop at a request or within a body in chunks. By itself it takes all that the
 * system gives at once, more than a thousand requests or ten thousand chunks, and other connections wait for as long.
 */
export class StoppableParser {
  private readonly socket: ParsedSocket;
  private readonly parser: HttpParser | null;
  /** Node's own listener, once bytes come here first. */
  private parse: ((bytes: Buffer) => void) | null = null;
  /** What comes of its body is held. */
  private chunked: Chunked | null = null;
  /** What the connection had got before its latest request in chunks. */
  private seenBytes = 0;
  /** Not parsed yet; null: nothing. */
  private rest: Buffer | null = null;
  private mustStop = false;
  private isStopping = false;

  constructor(
    socket: Socket,
    /** Called when it holds more of a body in chunks. */
    private readonly onHeld: () => void,
    /** Takes bytes that need no parser; false: the parser is to have them. */
    private readonly takes: (bytes: Buffer) => boolean,
  ) {
    this.socket = socket;
    this.parser = this.socket.parser ?? null;
    const { parser } = this;
    const take = parser?.onIncoming ?? null;
    // A version of Node that reads in another way: it takes all at once.
    if (parser === null || take === null) return;
    parser.onIncoming = (request, keepAlive) => {
      const next = take(request, keepAlive);
      if (!this.mustStop || next !== GO_ON) return next;
      this.mustStop = false;
      this.isStopping = true;
      return STOP;
    };
  }

  get isHolding(): boolean {
    return this.rest !== null;
  }

  /** The parser takes nothing until the client has read answers; the socket resumes then. */
  get isBlocked(): boolean {
    return this.socket._paused === true;
  }

  /** Stops the parser behind the headers of the request that it is at. The caller pauses the socket. */
  stop(): void {
    this.mustStop = true;
    this.attach();
  }

  /**
   * The request that it is at has a body in chunks: what comes of it from now on is held, to be parsed a little at a time.
   * So is what has come with the headers, if that may be much.
   */
  holdBody(request: Chunked): void {
    const { bytesRead } = this.socket;
    if (bytesRead - this.seenBytes > FREE_BYTES) this.mustStop = true;
    this.seenBytes = bytesRead;
    this.chunked = request;
    this.attach();
  }

  /** Whether it is within a body in chunks. */
  get isInChunks(): boolean {
    return this.chunked?.complete === false;
  }

  /** It has stopped, or has got more since: holds what it has not parsed. */
  stopped({ rawPacket, bytesParsed }: ParserError): void {
    const unread = rawPacket?.subarray(this.isStopping ? bytesParsed : 0) ?? NOTHING;
    // What it had been given is in front of what it has not been given.
    if (this.isStopping && this.rest !== null) this.rest = Buffer.concat([unread, this.rest]);
    else this.hold(unread);
    this.isStopping = false;
  }

  /** Goes on with `mostBytes` of what it holds; returns how many it took, 0: it cannot, or holds nothing. */
  goOn(mostBytes: number): number {
    const { socket, parser, parse, rest } = this;
    if (rest === null || this.isBlocked) return 0;
    this.rest = rest.length > mostBytes ? rest.subarray(mostBytes) : null;
    // Behind the end of HTTP nothing is looked at.
    if (parser === null || socket.parser !== parser || parse === null) {
      this.rest = null;
      return 0;
    }
    parser.resume?.();
    parse(rest.subarray(0, mostBytes));
    return Math.min(rest.length, mostBytes);
  }

  /** What it holds is not wanted any more. */
  drop(): void {
    this.rest = null;
  }

  /** What comes is looked at before it is parsed. */
  attach(): void {
    const { socket } = this;
    if (this.parse !== null || this.parser === null) return;
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    this.parse = parse;
    // Until somebody else listens, Node lets the parser read by itself, and it does not always stop when the socket is paused.
    socket.on('data', this.receive);
    socket.off('data', parse);
  }

  private readonly receive = (bytes: Buffer): void => {
    const { socket, parser, parse } = this;
    if (socket.parser !== parser) return;
    if (this.isInChunks) {
      this.hold(bytes);
      this.onHeld();
    } else if (!this.takes(bytes)) parse?.(bytes);
  };

  /** Bytes are to wait for their turn. */
  hold(bytes: Buffer): void {
    this.rest = this.rest === null ? bytes : Buffer.concat([this.rest, bytes]);
  }
}

const NOTHING = Buffer.alloc(0);
/** What may come with the headers of a request in chunks and is parsed at once. */
const FREE_BYTES = 4 * KIB;
