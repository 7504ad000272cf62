import type { Server, Socket } from 'node:net';
import {
  type handleUnaryCall,
  Metadata,
  type ServerInterceptingCallInterface,
  type StatusObject,
} from '@grpc/grpc-js';
import { msUntil } from '../../../base/clock/wall-clock.js';
import { KIB, NS_PER_MS } from '../../../base/units.js';
import { SHUTTING_DOWN } from '../../service.js';
import { peerOf } from '../../wire/guarded-port.js';
import { grpcListener, onAccepted } from '../../wire/listener.js';
import { API_ERRORS, ApiError, asApiError } from '../api-error.js';
import type { Call } from '../call.js';
import { type Account, type Held, MOST_CONTROL_BYTES, MOST_HEADER_BYTES } from '../limits.js';
import { type Site, traceOf } from '../site.js';

const LONGEST_MESSAGE = 4096;

/** Metadata key under which a handler finds its call. */
export const RPC = 'rpc';

export function rpcOf(metadata: Metadata): Rpc {
  return metadata.getOpaque(RPC) as Rpc;
}

/** Kind of a call. */
interface RpcKind {
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** True for calls without a token. */
  readonly isPublic: boolean;
}

/** One gRPC call. */
export class Rpc {
  isOver = false;
  /** A status was sent, perhaps behind responses that the client has to read first. */
  isRefused = false;
  /** Requests of a stream whose responses are pending. */
  underWay = 0;
  /** Time of its headers, on the service's clock. */
  readonly arrivalNs: number;
  /** Deadline of its client, on that clock. */
  readonly untilNs: number;
  /** Requests that the service has not answered. */
  readonly calls = new Set<Call>();
  private readonly held: Held;
  private isReceiving = true;
  private isDraining = false;
  /** Responses that the client has not read. */
  private unread = 0;
  /** Time from which the client counts as too slow. */
  private dueMs = Number.POSITIVE_INFINITY;

  /** Throws an `ApiError` for a stream too many: each counts as a request of its client. */
  constructor(
    private readonly site: Site,
    readonly connection: Connection,
    private readonly call: ServerInterceptingCallInterface,
    private readonly metadata: Metadata,
    private readonly kind: RpcKind,
  ) {
    const { account } = connection;
    if (kind.responseStream) account.ask(1);
    this.arrivalNs = site.service.nowNs();
    this.untilNs = this.arrivalNs + msUntil(Number(call.getDeadline())) * NS_PER_MS;
    if (!kind.requestStream) this.startClock();
    this.held = account.hold();
    connection.begin(kind.isPublic);
  }

  get trace(): string | null {
    return traceOf(this.header('traceparent'));
  }

  header(name: string): string | undefined {
    return this.metadata.get(name)[0]?.toString();
  }

  /**
   * A message is complete. Throws an `ApiError` if there is no memory for it: for its bytes if it is not decoded yet; for the
   * largest that it may have been, until the call ends, if more may follow: reflection answers whether or not its client reads.
   */
  received(message: unknown): void {
    const bytes = Buffer.isBuffer(message) ? message.length : 0;
    this.connection.settle(bytes);
    const { requestStream } = this.kind;
    if (!requestStream) this.dueMs = Number.POSITIVE_INFINITY;
    this.hold(requestStream && !Buffer.isBuffer(message) ? MOST_CONTROL_BYTES : bytes);
  }

  /** The client has sent all. */
  halfClosed(): void {
    if (!this.isReceiving) return;
    this.isReceiving = false;
    this.connection.end();
  }

  /** A response, whose memory is held, is being sent. */
  responds(): void {
    this.unread++;
    this.startClock();
  }

  /** The client has read a response. */
  sent(bytes: number): void {
    this.hold(-bytes);
    this.unread--;
    if (this.unread === 0) this.dueMs = Number.POSITIVE_INFINITY;
  }

  /** A request of a stream has its response. */
  finish(): void {
    this.underWay--;
    if (this.isDraining) this.drain();
  }

  /** Ends the call and its pending work. */
  refuse(apiError: ApiError): void {
    if (this.isOver || this.isRefused) return;
    this.isRefused = true;
    this.startClock();
    for (const call of this.calls) call.cancel();
    this.call.sendStatus(statusOf(apiError));
  }

  /** Ends a stream without pending work, so that the server can close. */
  drain(): void {
    this.isDraining = true;
    const { requestStream, responseStream } = this.kind;
    if ((requestStream || responseStream) && this.underWay === 0)
      this.refuse(new ApiError('notReady', SHUTTING_DOWN));
  }

  /** The response was sent, or the client has gone. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.halfClosed();
    if (this.kind.responseStream) this.connection.account.answered(1);
    for (const call of this.calls) call.cancel();
    this.held.set(0);
  }

  /** Ends the call if its client is too slow. */
  look(nowMs: number): void {
    if (nowMs < this.dueMs) return;
    this.site.apiErrors.add('tooSlow');
    if (this.unread > 0 || this.isRefused) this.connection.close();
    else {
      const { requestTimeoutMs } = this.site.settings;
      this.refuse(new ApiError('tooSlow', `the message did not arrive within ${requestTimeoutMs / 1000} s`));
    }
  }

  /** Reserves memory until the call ends; a negative number releases some. Throws an `ApiError`. */
  hold(bytes: number): void {
    if (!this.isOver) this.held.set(this.held.bytes + bytes);
  }

  /** Its client has to send its message, or read its response, from now on. */
  private startClock(): void {
    this.dueMs = performance.now() + this.site.settings.requestTimeoutMs;
  }
}

/** gRPC status for a failed call. */
export function statusOf({ kind, message, predictedMs }: ApiError): StatusObject {
  const metadata = new Metadata();
  if (kind === 'overLimit') {
    // Clients with a retry policy wait as long.
    if (predictedMs) metadata.set('grpc-retry-pushback-ms', String(Math.ceil(predictedMs)));
  } else if (predictedMs !== null) metadata.set('predicted-ms', String(predictedMs));
  // Half of a surrogate pair cannot be encoded.
  const details = Buffer.from(message.slice(0, LONGEST_MESSAGE)).toString();
  return { code: API_ERRORS[kind].grpc, details, metadata };
}

/** Upper bound on HTTP/2's overhead per message (frames, headers, window updates), in bytes. */
function overheadOf(bytes: number): number {
  return KIB + bytes / 128;
}

/** A client's connection, and the memory of its incomplete messages. */
class Connection {
  /** Calls with incomplete messages. */
  private receiving = 0;
  /** True once a call has shown the token. */
  private isTrusted = false;
  /** Bytes of the socket that belong to complete messages. */
  private settledBytes = 0;
  private readonly held: Held;

  constructor(
    private readonly socket: Socket,
    readonly account: Account,
  ) {
    this.held = account.hold();
  }

  get isSilent(): boolean {
    return this.socket.bytesRead === 0;
  }

  /** A call begins to send. */
  begin(isPublic: boolean): void {
    if (this.receiving === 0) this.settledBytes = this.socket.bytesRead;
    this.receiving++;
    if (!isPublic) this.isTrusted = true;
  }

  /** A call has sent all. */
  end(): void {
    this.receiving--;
    if (this.receiving === 0) this.held.set(0);
  }

  /** Notes a complete message of `bytes`. */
  settle(bytes: number): void {
    const settled = this.settledBytes + bytes + overheadOf(bytes);
    this.settledBytes = Math.min(settled, this.socket.bytesRead);
  }

  /**
   * Takes memory for what has come of incomplete messages, at most all that was sent since they began. Without the token
   * that may be `MOST_HEADER_BYTES`. Throws an `ApiError`.
   */
  hold(): void {
    if (this.receiving === 0) return;
    const bytes = this.socket.bytesRead - this.settledBytes;
    if (this.isTrusted) this.held.set(bytes);
    else if (bytes > MOST_HEADER_BYTES) throw new ApiError('tooLarge', 'the message is too large');
  }

  close(): void {
    this.held.set(0);
    this.socket.destroy();
  }
}

/** The connections of a gRPC port, within the limits of their number and memory. */
export class Connections {
  readonly listener: Server;
  /** By address and port of the client. */
  private readonly open = new Map<string, Connection>();

  /** `accepted`: receives admitted connections. */
  constructor(
    private readonly site: Site,
    accepted: (socket: Socket) => void,
  ) {
    const { tls, handshakeTimeoutMs } = site.settings;
    this.listener = grpcListener(tls, { handshakeTimeout: handshakeTimeoutMs });
    this.listener.on('connection', (socket: Socket) => this.admit(socket));
    onAccepted(this.listener, accepted);
  }

  /** The connection of a client; undefined: it has gone. */
  at(peer: Parameters<typeof peerOf>[0]): Connection | undefined {
    return this.open.get(peerOf(peer));
  }

  closeAll(): void {
    for (const connection of this.open.values()) connection.close();
  }

  /** Closes those whose clients have said nothing, not even that they speak HTTP/2. */
  closeSilent(): void {
    for (const connection of this.open.values()) if (connection.isSilent) connection.close();
  }

  private admit(socket: Socket): void {
    const account = this.site.admit(socket);
    if (account === null) return;
    const key = peerOf(socket);
    const connection = new Connection(socket, account);
    this.open.set(key, connection);
    socket.once('close', () => {
      this.open.delete(key);
      connection.close();
    });
  }

  /** Closes connections whose incomplete messages take too much memory. Call now and then. */
  look(): void {
    for (const connection of this.open.values()) {
      try {
        connection.hold();
      } catch (error) {
        this.site.apiErrors.add(asApiError(error).kind);
        connection.close();
      }
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape, decoded
export type Message = any;
export type Respond = (request: Message, metadata: Metadata) => object | Promise<object>;

/** Handler of a method; `respond` may reject with an `ApiError`. */
export function unary(respond: Respond): handleUnaryCall<Message, object> {
  return async ({ request, metadata }, done) => {
    try {
      done(null, await respond(request, metadata));
    } catch (error) {
      done(statusOf(asApiError(error)));
    }
  };
}
