import { Metadata, type ServerInterceptingCallInterface, type StatusObject } from '@grpc/grpc-js';
import { msUntil } from '../../../base/clock/wall-clock.js';
import { KIB, NS_PER_MS } from '../../../base/units.js';
import { SHUTTING_DOWN } from '../../service.js';
import { API_ERRORS, ApiError } from '../api-error.js';
import type { Call } from '../call.js';
import { traceOf } from '../headers.js';
import { type Held, MOST_CONTROL_BYTES } from '../limits.js';
import type { Connection } from './connections.js';

/** Time to send a message, and to read a response. */
const PATIENCE_MS = 30_000;
/** Bytes of a response that a client must read per millisecond beyond that. */
const LEAST_BYTES_PER_MS = (256 * KIB) / 1000;
const LONGEST_MESSAGE = 4096;

/** Key of the metadata under which a handler finds its call. */
export const RPC = 'rpc';

export function rpcOf(metadata: Metadata): Rpc {
  return metadata.getOpaque(RPC) as Rpc;
}

/** Kind of a call. */
interface RpcKind {
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** It needs no token. */
  readonly isPublic: boolean;
}

/** One gRPC call. */
export class Rpc {
  isOver = false;
  /** A status was sent, perhaps behind responses that the client has to read first. */
  isRefused = false;
  /** Requests of a stream whose responses have not left. */
  underWay = 0;
  /** When its client gives up, on the service's clock. */
  readonly untilNs: number;
  /** Those that the service has not answered. */
  readonly calls = new Set<Call>();
  private readonly held: Held;
  private heldBytes = 0;
  private isReceiving = true;
  private isDraining = false;
  /** Responses that the client has not read. */
  private unread = 0;
  /** When the client will have been too slow. */
  private dueMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly call: ServerInterceptingCallInterface,
    readonly connection: Connection,
    private readonly metadata: Metadata,
    /** When its headers came, on the service's clock. */
    readonly arrivalNs: number,
    private readonly kind: RpcKind,
  ) {
    this.untilNs = arrivalNs + msUntil(Number(call.getDeadline())) * NS_PER_MS;
    if (!kind.requestStream) this.dueMs = performance.now() + PATIENCE_MS;
    this.held = connection.account.hold();
    connection.begin(kind.isPublic);
  }

  get client(): string {
    return this.connection.account.client;
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
    this.connection.end(this.kind.isPublic);
  }

  /** A response of so many bytes goes out, for which memory is held. */
  responds(bytes: number): void {
    this.unread++;
    this.dueMs = performance.now() + PATIENCE_MS + bytes / LEAST_BYTES_PER_MS;
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

  /** Ends the call, with what is under way of it. */
  refuse(apiError: ApiError): void {
    if (this.isOver || this.isRefused) return;
    this.isRefused = true;
    this.dueMs = Math.min(this.dueMs, performance.now() + PATIENCE_MS);
    for (const call of this.calls) call.cancel();
    this.call.sendStatus(statusOf(apiError));
  }

  /** Ends a stream that has nothing under way, so that the server can close. */
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
    for (const call of this.calls) call.cancel();
    this.held.set(0);
  }

  /** Ends the call if its client is too slow, and says why; null: it is not. */
  cutOff(nowMs: number): string | null {
    if (nowMs < this.dueMs) return null;
    if (this.unread > 0 || this.isRefused) {
      this.connection.close();
      return 'its response is read too slowly';
    }
    const why = `the message has not come within ${PATIENCE_MS / 1000} s`;
    this.refuse(new ApiError('tooSlow', why));
    return why;
  }

  /** Takes memory for so many bytes more, until the call ends; below 0 it gives some back. Throws an `ApiError`. */
  hold(bytes: number): void {
    if (this.isOver) return;
    this.held.set(this.heldBytes + bytes);
    this.heldBytes += bytes;
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
