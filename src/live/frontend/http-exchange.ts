import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DRAINING, type InferenceService } from '../service.js';
import { LARGE_BYTES } from '../transfer.js';
import { API_ERRORS, ApiError, type ApiErrorKind, asApiError, shown } from './api-error.js';
import type { Call } from './call.js';
import type { FrontendSettings, TurnedAway } from './frontend.js';
import { Codec, type Compression } from './http-body.js';
import { type Account, type Held, MOST_HEADER_BYTES, PIECE_BYTES } from './limits.js';
import { Origins, Site, traceOf } from './site.js';

const JSON_TYPE = 'application/json';
/** Methods that a path accepts, by the method it was declared with. */
export const ALLOW = { GET: 'GET, HEAD, OPTIONS', POST: 'POST, OPTIONS' } as const;
/** Errors that are likely to end within a second. */
const SOON_OVER: ReadonlySet<ApiErrorKind> = new Set([
  ...(['overBudget', 'tooBusy', 'standby', 'notReady'] as const),
]);

/** State shared by all requests of one HTTP frontend. */
export class HttpSite extends Site {
  readonly codec: Codec;
  readonly origins: Origins;

  constructor(...[service, settings, turnedAway]: [InferenceService, FrontendSettings, TurnedAway]) {
    super('http', service, settings, turnedAway);
    this.codec = new Codec(settings.maxJsonBytes);
    this.origins = new Origins(settings.cors, settings.token !== null);
  }

  /** True if answers say that their connection ends with them. */
  get endsConnections(): boolean {
    return this.isClosing || this.service.state.notReady === DRAINING;
  }
}

/** A connection with its pending requests. */
export interface HttpConnection {
  readonly account: Account;
  readonly exchanges: Set<HttpExchange>;
}

/** One request and its answer. */
export class HttpExchange {
  /** Time at which its headers were complete, on the service's clock. */
  readonly arrivalNs: number;
  readonly trace: string | null;
  /** True for an inference, whose refusal is counted. */
  isInfer = false;
  /** Null: the request did not reach the service; otherwise the service counts its outcome. */
  call: Call | null = null;
  /** Nothing may follow on its connection, such as what others may take for the rest of its body. */
  isLast = true;
  /** True if something that is no request followed on its connection. */
  private isFollowed = false;
  /** The `label` of the model that it names, once that is known. */
  label: number | undefined;
  private readonly held: Held;
  private isOver = false;
  /** A codec thread has its body or answer. */
  private isElsewhere = false;

  constructor(
    readonly site: HttpSite,
    readonly connection: HttpConnection,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    /** True if its client waits for 100 Continue before it sends the body. */
    readonly asksFirst: boolean,
  ) {
    this.arrivalNs = site.service.nowNs();
    this.trace = traceOf(request.headers.traceparent);
    this.held = connection.account.hold();
    connection.exchanges.add(this);
    response.on('close', () => this.end());
  }

  /** Path without the query, also from an absolute URL, as sent to proxies. */
  get path(): string {
    const url = this.request.url as string;
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    return path.startsWith('/') ? path : path.replace(/^[^/]+:\/\/[^/]*/, '') || '/';
  }

  get header(): IncomingMessage['headers'] {
    return this.request.headers;
  }

  /** Its client has gone: nothing can be answered any more. */
  get isGone(): boolean {
    return this.isOver || this.response.destroyed || this.request.socket.destroyed;
  }

  /** Sets its part of the memory budget to `bytes`, until it is over. Throws an `ApiError`. */
  hold(bytes: number): void {
    if (!this.isOver) this.held.set(bytes);
  }

  /** Ends it when it was answered or its client has gone: releases memory, and withdraws it from the queue. */
  end(): void {
    if (this.isOver) return;
    this.connection.exchanges.delete(this);
    this.isOver = true;
    if (!this.isElsewhere) this.held.set(0);
    this.call?.cancel();
  }

  /** Keeps its memory until a codec thread is done with its body or answer, even if its client goes meanwhile. */
  async heldUntil<T>(done: Promise<T>): Promise<T> {
    this.isElsewhere = true;
    try {
      return await done;
    } finally {
      this.isElsewhere = false;
      if (this.isOver) this.held.set(0);
    }
  }

  /** Ends its connection, whose last request this is, after all answers. `problem`: answers it if its body is not complete. */
  endConnection(problem: ApiError): void {
    const { request, response } = this;
    if (this.isFollowed) return;
    this.isFollowed = true;
    this.isLast = true;
    response.once('close', () => request.socket.destroySoon());
    if (request.complete) return;
    if (response.headersSent) response.end();
    else this.refuse(problem);
  }

  /** Does a step of its work. The error that this throws or rejects with is the answer. */
  attempt(act: () => unknown): void {
    const fail = (error: unknown) => this.refuse(asApiError(error));
    try {
      const done = act();
      if (done instanceof Promise) done.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Attempts `use` with the pieces of the whole body, unless the client goes. `advice`: for a body beyond the limit. Throws an `ApiError`. */
  body(limitBytes: number, advice: string, use: (pieces: readonly Buffer[]) => unknown): void {
    const { request, announcedBytes } = this;
    const tooLarge = () => new ApiError('tooLarge', `the body is larger than ${limitBytes} bytes${advice}`);
    // A body announced as too large is refused before any of it is read.
    if (announcedBytes > limitBytes) throw tooLarge();
    if (this.asksFirst) this.response.writeContinue();
    this.isLast = false;
    const pieces: Buffer[] = [];
    let bytes = 0;
    const receive = (piece: Buffer) => {
      bytes += piece.length;
      pieces.push(piece);
      try {
        if (bytes > limitBytes) throw tooLarge();
        this.hold(bytes + PIECE_BYTES * pieces.length);
      } catch (error) {
        pieces.length = 0;
        request.off('data', receive).off('end', finish);
        this.refuse(asApiError(error));
      }
    };
    const finish = () => {
      // Nothing else may keep the pieces.
      request.off('data', receive).off('end', finish);
      this.attempt(() => use(pieces));
    };
    request.on('data', receive).on('end', finish);
  }

  /** Answers with JSON. */
  sendJson(status: number, json: string | Uint8Array, headers: string[] = []): void {
    headers.push('content-type', JSON_TYPE);
    this.send(status, headers, [bytesOf(json)]);
  }

  /** Answers with JSON, and binary tensors behind it if there are any (binary tensor data extension). */
  sendInference(
    json: string | Uint8Array,
    tensors: readonly Uint8Array[],
    compression: Compression | null,
  ): void {
    if (tensors.length === 0) {
      const headers =
        compression === null ? [] : ['content-encoding', compression, 'vary', 'accept-encoding'];
      this.sendJson(200, json, headers);
      return;
    }
    const head = bytesOf(json);
    const headers = ['inference-header-content-length', String(head.length)];
    headers.push('content-type', 'application/octet-stream');
    this.send(200, headers, [head, ...tensors]);
  }

  /** Answers with an error. The rest of its body, if any, is read and dropped. */
  refuse(apiError: ApiError): void {
    const { kind, message, predictedMs } = apiError;
    const isPredicted = kind === 'rejected' || (predictedMs !== null && kind !== 'overLimit');
    const predicted = isPredicted ? `,"predicted_ms":${predictedMs}` : '';
    const headers: string[] = [];
    // The header has whole seconds.
    if (kind === 'rejected' || kind === 'overLimit')
      headers.push('retry-after', String(Math.max(1, Math.ceil((predictedMs ?? 0) / 1000))));
    else if (SOON_OVER.has(kind)) headers.push('retry-after', '1');
    else if (kind === 'unauthenticated') headers.push('www-authenticate', 'Bearer');
    else if (kind === 'needsGet') headers.push('allow', ALLOW.GET);
    else if (kind === 'needsPost') headers.push('allow', ALLOW.POST);
    if (this.isGone || this.response.headersSent) return;
    // What is left of a body without a length may never end.
    if (this.announcedBytes < 0 && !this.request.complete) this.isLast = true;
    if (this.isInfer && this.call === null) this.site.apiErrors.add(kind, this.label);
    this.sendJson(API_ERRORS[kind].http, `{"error":${JSON.stringify(message)}${predicted}}`, headers);
    this.hold(0);
  }

  /** Bytes that its `content-length` announces; −1: it has none. */
  private get announcedBytes(): number {
    const { 'content-length': length, 'transfer-encoding': coding } = this.header;
    if (length !== undefined) return Number(length);
    return coding === undefined ? 0 : -1;
  }

  /** Answers with the parts as its body. */
  send(status: number, headers: string[], parts: readonly Uint8Array[] = []): void {
    const { request, response, site, trace } = this;
    if (this.isGone || response.headersSent) return;
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    headers.push('content-length', String(bytes));
    if (site.origins.isOn) headers.push(...site.origins.headersFor(this.header.origin));
    if (trace !== null) headers.push('traceparent', trace);
    if (this.isLast || site.endsConnections) headers.push('connection', 'close');
    response.writeHead(status, headers);
    if (!request.complete && this.announcedBytes !== 0 && !this.isLast) {
      // A connection that ends before its client has sent all is reset, and the client may not see the answer.
      for (const part of parts) response.write(part);
      request.on('end', () => response.end()).resume();
    } else if (bytes <= LARGE_BYTES) {
      // A text with a character per byte goes out together with the headers.
      response.end(Buffer.concat(parts, bytes).toString('latin1'), 'latin1');
    } else {
      response.cork();
      for (const part of parts) response.write(part);
      response.end();
    }
  }
}

function bytesOf(json: string | Uint8Array): Uint8Array {
  return typeof json === 'string' ? Buffer.from(json) : json;
}

/** Time for which input is still read after an error, so that the client sees the answer. */
const LINGER_MS = 1000;

/** Answers bytes that are no request, and ends their connection. */
export function hangUp(socket: Socket, { kind, message }: ApiError): void {
  const { http } = API_ERRORS[kind];
  const text = JSON.stringify({ error: message });
  const head = `HTTP/1.1 ${http} ${STATUS_CODES[http]}\r\nconnection: close\r\ncontent-type: ${JSON_TYPE}`;
  socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  // A connection that is closed with bytes unread is reset, and its client may not see what was written.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Error of Node's HTTP parser. */
export interface ParserError extends Error {
  readonly code?: string;
  /** Message of llhttp. */
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
      return new ApiError('tooSlow', 'the request arrives too slowly');
    case 'HPE_PAUSED_H2_UPGRADE':
      return new ApiError('invalid', 'this port speaks HTTP/1.1: gRPC has a port of its own');
    default:
      if (!code.startsWith('HPE_')) return null;
      return new ApiError('invalid', `this is not HTTP/1.1: ${reason ?? code}`);
  }
}

/** Throws an `ApiError` for a request that Node takes although others could read the length of its body otherwise (RFC 9112), or its Host. */
export function checkFraming({ headers, httpVersionMinor }: IncomingMessage): void {
  const { host, 'transfer-encoding': coding } = headers;
  if (host === undefined && httpVersionMinor > 0) throw new ApiError('invalid', 'header Host is missing');
  // Two are joined.
  if (host?.includes(','))
    throw new ApiError('invalid', `header Host: expected one host, got ${shown(host)}`);
  if (coding === undefined || (httpVersionMinor > 0 && coding.toLowerCase() === 'chunked')) return;
  throw new ApiError(
    'unimplemented',
    `transfer-encoding ${shown(coding)} is not supported: send chunked in HTTP/1.1, and name compression in content-encoding`,
  );
}
