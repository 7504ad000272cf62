import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { API_ERRORS, ApiError } from './api-error.js';
import type { Account } from './budget.js';
import { MOST_HEADER_BYTES, MOST_PIPELINED } from './limits.js';

/** Time for which input is still read after an error, so that the client sees the answer. */
const LINGER_MS = 1000;

/** A request with its answer, as its connection sees it. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Nothing may follow on its connection. */
  isLast: boolean;
  refuse(apiError: ApiError, mayLinger: boolean): void;
  /** It was answered, or its client has gone. */
  end(): void;
}

/** A connection, with what is under way on it. */
export class HttpConnection {
  private readonly exchanges = new Set<Exchange>();
  /** Bytes that are no request came: said when all before was answered. */
  private problem: ApiError | null = null;

  constructor(
    private readonly socket: Socket,
    readonly account: Account,
  ) {
    // After CONNECT, Node's listener is gone.
    socket.on('error', () => {});
    socket.once('close', () => {
      for (const exchange of this.exchanges) exchange.end();
    });
  }

  get address(): string {
    return this.socket.remoteAddress ?? 'unknown';
  }

  /** Hangs up on a client that has not said a word. */
  destroySilent(): void {
    if (this.socket.bytesRead === 0) this.socket.destroy();
  }

  /** False: too many are under way, and the connection is closed. */
  begin(exchange: Exchange): boolean {
    if (this.exchanges.size >= MOST_PIPELINED) {
      this.socket.destroy();
      return false;
    }
    this.exchanges.add(exchange);
    exchange.response.once('close', () => {
      exchange.end();
      this.exchanges.delete(exchange);
      if (this.problem !== null && this.exchanges.size === 0) hangUp(this.socket, this.problem);
    });
    return true;
  }

  /** Sends an error after the answers that are due, and hangs up: further input is no request. */
  end(problem: ApiError): void {
    if (this.problem !== null) return;
    // It may be the body of the last request, which is answered in its place.
    const last = [...this.exchanges].find(({ request }) => !request.complete);
    if (last !== undefined) {
      last.isLast = true;
      last.refuse(problem, false);
      return;
    }
    this.problem = problem;
    if (this.exchanges.size === 0) hangUp(this.socket, problem);
  }
}

/** Says why a connection ends, as the answer to whatever came, and ends it. */
export function hangUp(socket: Socket, problem: ApiError): void {
  if (socket.writable) socket.end(lastAnswer(problem));
  // A connection that is closed with bytes unread is reset, and its client may not see what was written.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** An answer as it goes over the wire, after which the connection ends. */
function lastAnswer({ kind, message }: ApiError): string {
  const text = JSON.stringify({ error: message });
  const status = API_ERRORS[kind].http;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
}

/** Error of Node's HTTP parser. */
export interface ParserError extends Error {
  readonly code?: string;
  /** In llhttp's words. */
  readonly reason?: string;
}

/** API error for a parser error; null: the connection itself has failed. */
export function parserProblem({ code = '', reason }: ParserError): ApiError | null {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headersTooLarge', `the headers have more than ${MOST_HEADER_BYTES} bytes`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('tooLarge', 'the extensions of a chunk have more than 16384 bytes');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('tooSlow', 'the request comes too slowly');
    case 'HPE_PAUSED_H2_UPGRADE':
      return new ApiError('invalid', 'this port speaks HTTP/1.1: gRPC has a port of its own');
    default:
      if (!code.startsWith('HPE_')) return null;
      return new ApiError('invalid', `this is not HTTP/1.1: ${reason ?? code}`);
  }
}

/** To CONNECT, behind which no more HTTP may come. */
export const NO_PROXY = new ApiError('unimplemented', 'CONNECT is not supported: this server is no proxy');
