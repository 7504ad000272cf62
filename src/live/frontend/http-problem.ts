import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { API_ERRORS, ApiError } from './api-error.js';
import { MOST_HEADER_BYTES } from './limits.js';

/** Time for which input is still read after an error, so that the client sees the answer. */
const LINGER_MS = 1000;

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
