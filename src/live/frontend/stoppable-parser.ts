import type { Socket } from 'node:net';
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

/**
 * Node's parser of a connection, which can stop at a request. By itself it takes all requests that the system gives at once,
 * more than a thousand, and other connections wait for as long.
 */
export class StoppableParser {
  private readonly socket: ParsedSocket;
  private readonly parser: HttpParser | null;
  /** Not parsed yet; null: nothing. */
  private rest: Buffer | null = null;
  private mustStop = false;
  private isStopping = false;
  private isAttached = false;

  constructor(socket: Socket) {
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
    if (this.isAttached) return;
    this.isAttached = true;
    // Until somebody listens, Node lets the parser read by itself, and it does not always stop when the socket is paused.
    this.socket.on('data', ignore);
    this.socket.off('data', ignore);
  }

  /** It has stopped, or has got more since: holds what it has not parsed. */
  stopped({ rawPacket, bytesParsed }: ParserError): void {
    const unread = rawPacket?.subarray(this.isStopping ? bytesParsed : 0) ?? NOTHING;
    this.isStopping = false;
    this.rest = this.rest === null ? unread : Buffer.concat([this.rest, unread]);
  }

  /** Goes on with what it holds; false: it cannot, or holds nothing. */
  goOn(): boolean {
    const { socket, parser, rest } = this;
    if (rest === null || this.isBlocked) return false;
    this.rest = null;
    // Behind the end of HTTP nothing is looked at.
    if (parser === null || socket.parser !== parser) return false;
    parser.resume?.();
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    parse(rest);
    return true;
  }

  /** What it holds is not wanted any more. */
  drop(): void {
    this.rest = null;
  }
}

const NOTHING = Buffer.alloc(0);

function ignore(): void {}
