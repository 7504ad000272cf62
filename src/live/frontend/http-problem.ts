import { maxHeaderSize } from 'node:http';
import type { FrontendRequest } from './http-request.js';
import { Refusal, shown } from './refusal.js';

/** What Node's parser reports. */
export interface ParserError extends Error {
  readonly code?: string;
  /** In llhttp's words. */
  readonly reason?: string;
  /** What it was given last, and how much of that it has parsed. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** What it reports when it was stopped. */
export const PARSER_STOPPED = 'HPE_PAUSED';

/** What it reports when a client has said its last word in the middle of a request. */
export const HUNG_UP = 'HPE_INVALID_EOF_STATE';

/** What is wrong with bytes that are no request; null: the connection itself has failed. */
export function parserProblem({ code = '', reason }: ParserError): Refusal | null {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('headersTooLarge', `the headers have more than ${maxHeaderSize} bytes`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Refusal('tooLarge', 'the extensions of a chunk have more than 16384 bytes');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('tooSlow', 'the headers come too slowly');
    case 'HPE_PAUSED_H2_UPGRADE':
      return new Refusal('invalid', 'this port speaks HTTP/1.1: gRPC has a port of its own');
    default:
      if (!code.startsWith('HPE_')) return null;
      return new Refusal('invalid', `this is not HTTP/1.1: ${reason ?? code}`);
  }
}

/** To CONNECT, behind which no more HTTP may come. */
export const NO_PROXY = new Refusal('unimplemented', 'CONNECT is not supported: this server is no proxy');

/**
 * Throws a refusal for a request that Node takes although others could read its length or its addressee otherwise
 * (RFC 9112). Runs for every request.
 */
export function checkFraming({ headers, rawHeaders, httpVersionMinor, response }: FrontendRequest): void {
  const { host, 'transfer-encoding': coding } = headers;
  if (coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked')) {
    response.shouldKeepAlive = false;
    if (httpVersionMinor === 0) throw new Refusal('invalid', 'transfer-encoding is not part of HTTP/1.0');
    throw new Refusal(
      'unimplemented',
      `transfer-encoding ${shown(coding)} is not supported: send chunked, and name compression in content-encoding`,
    );
  }
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i].length === HOST.length && rawHeaders[i].toLowerCase() === HOST) hosts++;
  if (hosts > 1 || (host === undefined && httpVersionMinor > 0)) {
    response.shouldKeepAlive = false;
    throw new Refusal('invalid', `header Host: expected one, got ${hosts}`);
  }
}

const HOST = 'host';
