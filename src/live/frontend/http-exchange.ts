import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DRAINING, type InferenceService } from '../service.js';
import { LARGE_BYTES } from '../transfer.js';
import { API_ERRORS, ApiError, type ApiErrorKind, asApiError, shown } from './api-error.js';
import type { Call } from './call.js';
import type { FrontendEvents, FrontendSettings } from './frontend.js';
import { Codec, type Compression } from './http-body.js';
import {
  type Account,
  type Held,
  LEAST_CHUNK_BYTES,
  MOST_HEADER_BYTES,
  MOST_LINGER_MS,
  MOST_PIPELINED,
  MOST_TINY_CHUNKS,
  SMALL_REST_BYTES,
} from './limits.js';
import { Origins, Site, traceOf } from './site.js';

const JSON_TYPE = 'application/json';
/** Methods that a path accepts, by the method it was declared with. */
export const ALLOW = { GET: 'GET, HEAD, OPTIONS', POST: 'POST, OPTIONS' } as const;
/** Errors that are likely to end within a second. */
const SOON_OVER: ReadonlySet<ApiErrorKind> = new Set([
  ...(['overBudget', 'tooBusy', 'standby', 'notReady'] as const),
]);

/** After these the rest of a body is not read as one. */
const LAST: ReadonlySet<ApiErrorKind> = new Set(['unauthenticated', 'tooLarge', 'tooSlow'] as const);

/** State shared by all requests of one HTTP frontend. */
export class HttpSite extends Site {
  readonly codec: Codec;
  readonly origins: Origins;

  constructor(...[service, settings, events]: [InferenceService, FrontendSettings, FrontendEvents]) {
    super('http', service, settings, events);
    this.codec = new Codec(settings.maxJsonBytes);
    this.origins = new Origins(settings.cors, settings.token !== null);
  }

  get isDraining(): boolean {
    return this.service.state.notReady === DRAINING;
  }
}

/** Looks at a connection, within its idle time, after which it is closed if nothing has come. */
export const MOST_IDLE_LOOKS = 10;

/** A connection with its pending requests. */
export class HttpConnection {
  private readonly exchanges = new Set<HttpExchange>();
  /** Bytes that are no request came: it ends when all before was answered. */
  private isLost = false;
  /** Error that answers these bytes then; null: the answer to the last request says it. */
  private problem: ApiError | null = null;
  private idleLooks = 0;
  /** Bytes received at the last look. */
  private seenBytes = 0;
  /** True if its client has been sent elsewhere before, and came back: it stays until the server closes. */
  private readonly isBack: boolean;

  constructor(
    private readonly site: HttpSite,
    private readonly socket: Socket,
    readonly account: Account,
  ) {
    this.isBack = site.isDraining;
    // After CONNECT, Node's listener is gone.
    socket.on('error', () => {});
    socket.once('close', () => {
      for (const exchange of this.exchanges) exchange.end();
    });
  }

  /** True if its answers say that it ends with them. */
  get ends(): boolean {
    return this.site.isClosing || (this.site.isDraining && !this.isBack);
  }

  get address(): string {
    return this.socket.remoteAddress ?? 'unknown';
  }

  /** Call at regular intervals. Hangs up on a client that has left it idle at too many in a row. */
  look(): void {
    const { bytesRead } = this.socket;
    const isIdle = this.exchanges.size === 0 && bytesRead === this.seenBytes;
    this.seenBytes = bytesRead;
    this.idleLooks = isIdle ? this.idleLooks + 1 : 0;
    if (this.idleLooks >= MOST_IDLE_LOOKS) this.socket.destroy();
  }

  /** Hangs up on a client that has sent nothing. */
  destroySilent(): void {
    if (this.socket.bytesRead === 0) this.socket.destroy();
  }

  /** False: too many are under way, and the connection is closed. */
  begin(exchange: HttpExchange): boolean {
    if (this.exchanges.size >= MOST_PIPELINED) {
      this.socket.destroy();
      return false;
    }
    this.exchanges.add(exchange);
    exchange.response.on('close', () => {
      exchange.end();
      this.exchanges.delete(exchange);
      this.endIfLost();
    });
    return true;
  }

  /** Sends an error after the pending answers, and hangs up: further input cannot be a request. */
  end(problem: ApiError): void {
    if (this.isLost) return;
    this.isLost = true;
    // It may be the body of the last request, which is answered in its place.
    const last = [...this.exchanges].find(({ request }) => !request.complete);
    if (last === undefined) this.problem = problem;
    else {
      last.isLast = true;
      last.refuse(problem, false);
    }
    this.endIfLost();
  }

  private endIfLost(): void {
    if (this.isLost && this.exchanges.size === 0) hangUp(this.socket, this.problem);
  }
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
  /** Nothing may follow on its connection. */
  isLast = false;
  /** The `label` of the model that it names, once that is known. */
  label: number | undefined;
  private readonly held: Held;
  private isOver = false;

  constructor(
    readonly site: HttpSite,
    readonly connection: HttpConnection,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    /** True if its client waits for 100 Continue before it sends the body. */
    private readonly asksFirst: boolean,
  ) {
    this.arrivalNs = site.service.nowNs();
    this.trace = traceOf(request.headers.traceparent);
    this.held = connection.account.hold();
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
    this.hold(0);
    this.isOver = true;
    this.call?.cancel();
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
    const pieces: Buffer[] = [];
    let bytes = 0;
    const receive = (piece: Buffer) => {
      bytes += piece.length;
      pieces.push(piece);
      try {
        if (bytes > limitBytes) throw tooLarge();
        if (pieces.length > MOST_TINY_CHUNKS && bytes < pieces.length * LEAST_CHUNK_BYTES)
          throw new ApiError(
            'invalid',
            `the body comes in chunks of less than ${LEAST_CHUNK_BYTES} bytes: send larger chunks`,
          );
        this.hold(bytes);
      } catch (error) {
        pieces.length = 0;
        request.off('data', receive).off('end', finish).pause();
        this.refuse(asApiError(error));
      }
    };
    const finish = () => this.attempt(() => use(pieces));
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

  /** `mayLinger`: the rest of its body can be read. */
  refuse(apiError: ApiError, mayLinger = true): void {
    const { kind, message, predictedMs } = apiError;
    const isPredicted = kind === 'rejected' || (predictedMs !== null && kind !== 'overLimit');
    const predicted = isPredicted ? `,"predicted_ms":${predictedMs}` : '';
    const text = `{"error":${JSON.stringify(message)}${predicted}}`;
    const headers = ['content-type', JSON_TYPE];
    // The header has whole seconds.
    if (kind === 'rejected' || kind === 'overLimit')
      headers.push('retry-after', String(Math.max(1, Math.ceil((predictedMs ?? 0) / 1000))));
    else if (SOON_OVER.has(kind)) headers.push('retry-after', '1');
    else if (kind === 'unauthenticated') headers.push('www-authenticate', 'Bearer');
    else if (kind === 'needsGet') headers.push('allow', ALLOW.GET);
    else if (kind === 'needsPost') headers.push('allow', ALLOW.POST);
    const { request, announcedBytes, site } = this;
    const isLeft = !request.complete && (announcedBytes < 0 || announcedBytes > SMALL_REST_BYTES);
    const isLast = this.isLast || isLeft || LAST.has(kind);
    if (isLast) headers.push('connection', 'close');
    const response = this.sendHead(API_ERRORS[kind].http, headers, Buffer.byteLength(text));
    if (response === null) return;
    if (this.isInfer && this.call === null) site.apiErrors.add(kind, this.label);
    if (!isLast || request.complete || announcedBytes < 0 || !mayLinger) response.end(text);
    else this.linger(text);
  }

  /** Bytes that its `content-length` announces; −1: it has none. */
  private get announcedBytes(): number {
    const { 'content-length': length, 'transfer-encoding': coding } = this.header;
    if (length !== undefined) return Number(length);
    return coding === undefined ? 0 : -1;
  }

  /** Answers with the parts as its body. */
  send(status: number, headers: string[], parts: readonly Uint8Array[] = []): void {
    let bytes = 0;
    for (const { length } of parts) bytes += length;
    const response = this.sendHead(status, headers, bytes);
    if (response === null) return;
    // A text with a character per byte goes out together with the headers.
    if (bytes <= LARGE_BYTES) response.end(Buffer.concat(parts, bytes).toString('latin1'), 'latin1');
    else {
      response.cork();
      for (const part of parts) response.write(part);
      response.end();
    }
    this.awaitReader();
  }

  /** Writes status and headers; null: the client is gone, or they were sent. */
  private sendHead(status: number, headers: string[], bytes: number): ServerResponse | null {
    const { connection, response, site, trace } = this;
    if (this.isGone || response.headersSent) return null;
    headers.push('content-length', String(bytes));
    if (site.origins.isOn) headers.push(...site.origins.headersFor(this.header.origin));
    if (trace !== null) headers.push('traceparent', trace);
    if (connection.ends) headers.push('connection', 'close');
    return response.writeHead(status, headers);
  }

  /** Ends the connection of a client that does not read, once it makes no progress. */
  private awaitReader(): void {
    const { response, site } = this;
    if (response.writableLength === 0) return;
    const { sendTimeoutMs } = site.settings;
    response.setTimeout(sendTimeoutMs, () => {
      site.events.cutOff(
        this.connection.address,
        `it read nothing of its answer for ${sendTimeoutMs / 1000} s`,
      );
      this.request.socket.destroy();
    });
    response.once('close', () => this.request.socket.setTimeout(0));
  }

  /** Drops the rest of the body for a while: a connection that is closed before that is reset, and its client sees no answer. */
  private linger(text: string): void {
    const { request, response } = this;
    this.hold(0);
    response.write(text);
    const end = () => response.end();
    const timer = setTimeout(end, MOST_LINGER_MS);
    request.on('close', () => clearTimeout(timer));
    request.on('end', end).resume();
  }
}

function bytesOf(json: string | Uint8Array): Uint8Array {
  return typeof json === 'string' ? Buffer.from(json) : json;
}

/** Time for which input is still read after an error, so that the client sees the answer. */
const LINGER_MS = 1000;

/** Ends a connection with the reason, as the answer to any input. */
export function hangUp(socket: Socket, problem: ApiError | null): void {
  if (socket.writable) socket.end(problem === null ? '' : lastAnswer(problem));
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

/** Answer to CONNECT, after which no more HTTP may follow. */
export const NO_PROXY = new ApiError('unimplemented', 'CONNECT is not supported: this server is no proxy');

/**
 * Throws an `ApiError` for a request that Node takes although others could read its length or its addressee otherwise
 * (RFC 9112).
 */
export function checkFraming({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  const { host, 'transfer-encoding': coding } = headers;
  if (coding !== undefined && httpVersionMinor === 0)
    throw new ApiError('invalid', 'transfer-encoding is not part of HTTP/1.0');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new ApiError(
      'unimplemented',
      `transfer-encoding ${shown(coding)} is not supported: send chunked, and name compression in content-encoding`,
    );
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i].toLowerCase() === 'host') hosts++;
  if (hosts > 1 || (host === undefined && httpVersionMinor > 0))
    throw new ApiError('invalid', `header Host: expected one, got ${hosts}`);
}
