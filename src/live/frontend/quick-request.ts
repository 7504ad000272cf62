import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ModelEntry } from '../service.js';
import type { Account } from './budget.js';
import type { HttpSite } from './http-site.js';
import type { KnownHead } from './known-head.js';
import type { OpenRequest, OpenResponse } from './open-request.js';
import type { Refusal } from './refusal.js';

/**
 * What Node's HTTP server keeps at a connection, which it does not document: the response that is under way. It leaves the
 * connection open until that is `finished`, asks it first when the connection was idle for long, and sets `_last` when the
 * client has said its last word.
 */
interface HttpSocket extends Socket {
  _httpMessage?: object | null;
}

/** What is known of a request before its body is read. */
interface KnownRequest {
  readonly head: KnownHead;
  /** What its path names now. */
  readonly entry: ModelEntry;
  readonly bodyBytes: number;
}

/**
 * A small infer request whose head is known, and the response to it. Node's own objects for both, with their streams, take
 * more time than all the rest that is done for such a request.
 */
export class QuickRequest implements OpenRequest, OpenResponse {
  readonly complete = true;
  /** For Node. */
  readonly finished = false;
  _last = false;
  isAsked = false;
  shouldKeepAlive = true;
  headersSent = false;
  private head = '';
  private heldBytes = 0;
  private isOver = false;

  constructor(
    readonly site: HttpSite,
    readonly socket: Socket,
    private readonly account: Account,
    private readonly known: KnownRequest,
    readonly arrivalNs: number,
    /** Called when the answer was sent, or the client has gone. */
    private readonly over: () => void,
  ) {
    (socket as HttpSocket)._httpMessage = this;
  }

  get response(): OpenResponse {
    return this;
  }

  get headers() {
    return this.known.head.headers;
  }

  get path(): string {
    return this.known.head.path;
  }

  get entry(): ModelEntry {
    return this.known.entry;
  }

  get announcedBytes(): number {
    return this.known.bodyBytes;
  }

  get clientKey(): string {
    return this.account.clientKey;
  }

  get quota(): Account {
    return this.account;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  hold(bytes: number): Refusal | null {
    const refusal = this.account.change(this.heldBytes, bytes);
    if (refusal === null) this.heldBytes = bytes;
    return refusal;
  }

  release(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.account.change(this.heldBytes, 0);
    const { socket } = this;
    (socket as HttpSocket)._httpMessage = null;
    if (this._last || !this.shouldKeepAlive) socket.destroySoon();
    this.over();
  }

  writeHead(status: number, headers: readonly string[]): void {
    this.headersSent = true;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
    this.head = head + this.site.lastHeaders(this.shouldKeepAlive);
  }

  cork(): void {
    this.socket.cork();
  }

  write(piece: string | Uint8Array): void {
    const { socket, head } = this;
    this.head = '';
    if (typeof piece === 'string') socket.write(head + piece);
    else {
      if (head !== '') socket.write(head, 'latin1');
      socket.write(piece);
    }
  }

  end(piece: string | Uint8Array = '', encoding: BufferEncoding = 'utf8'): void {
    const { socket } = this;
    if (typeof piece !== 'string') {
      socket.cork();
      this.write(piece);
    } else if (this.head !== '' || piece !== '') socket.write(this.head + piece, encoding);
    while (socket.writableCorked > 0) socket.uncork();
  }

  /** What waits to be sent is gone, one way or the other. */
  once(_event: 'close', listener: () => void): void {
    const { socket } = this;
    const gone = () => {
      socket.off('close', gone);
      listener();
    };
    socket.on('close', gone);
    // It ends when all before it has. Nothing drains where little waits, as with TLS, which sends nothing at once.
    socket.write('', 'latin1', gone);
  }

  /** By Node, when the connection was idle for long: it is not. */
  emit(): boolean {
    return true;
  }
}
