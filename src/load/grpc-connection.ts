import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { status } from '@grpc/grpc-js';
import {
  OUTCOME_ERROR,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../../core/request.js';
import type { Done } from './target.js';
import type { Message } from './template.js';

/** After a connection failed, the next is tried so much later. Closed-loop clients must not make it a busy loop. */
const RETRY_MS = 100;
/** Bytes that a server may send before they are acknowledged, on all requests of a connection together. */
const WINDOW_BYTES = 16 * 1024 * 1024;

/**
 * One HTTP/2 connection that carries many gRPC calls at a time: of one method, with messages that are encoded
 * already, and answers of which only the status counts. `@grpc/grpc-js` takes three times as long for each, which a
 * generator that shares its machine with the server cannot afford.
 */
export class GrpcConnection {
  lost = 0;
  problem = '';
  private session: ClientHttp2Session | null = null;
  private retryAtMs = 0;

  constructor(
    /** http: or https:. */
    private readonly authority: string,
    private readonly tls: Pick<SecureClientSessionOptions, 'ca' | 'rejectUnauthorized'>,
    private readonly headers: OutgoingHttpHeaders,
  ) {}

  /** `head` begins with the prefix that gRPC puts before each message. */
  send({ head, tail }: Message, done: Done): void {
    // Closed a moment ago, and its event is still to come.
    if (this.session?.closed || this.session?.destroyed) this.session = null;
    if (this.session === null && performance.now() < this.retryAtMs) {
      this.lose(done);
      return;
    }
    this.session ??= this.open();
    const stream = this.session.request(this.headers);
    if (tail !== null) stream.write(head);
    stream.end(tail ?? head);
    new Call(stream, (code) => {
      if (code === null) this.lose(done);
      else done(outcomeOf(code));
    });
  }

  /** What is outstanding is not answered any more. */
  close(): void {
    this.session?.destroy();
  }

  private lose(done: Done): void {
    this.lost++;
    setTimeout(() => done(OUTCOME_ERROR), RETRY_MS);
  }

  private open(): ClientHttp2Session {
    const session = connect(this.authority, {
      ...this.tls,
      // As many requests as there are; Node would refuse some of them at 10 MB.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    });
    const leave = () => {
      if (this.session === session) this.session = null;
    };
    session.once('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    session.on('error', (error) => {
      this.problem = error.message || String((error as NodeJS.ErrnoException).code);
      this.retryAtMs = performance.now() + RETRY_MS;
      leave();
    });
    session.once('goaway', leave);
    session.once('close', () => {
      this.problem ||= 'the server closed the connection';
      leave();
    });
    return session;
  }
}

/** Tells the status of one call; null: it ended without. */
class Call {
  private code: number | null = null;

  constructor(stream: ClientHttp2Stream, ended: (code: number | null) => void) {
    stream.on('response', (headers) => this.read(headers));
    stream.on('trailers', (headers) => this.read(headers));
    // The connection tells of it.
    stream.on('error', () => {});
    stream.on('close', () => ended(this.code));
    stream.resume();
  }

  private read(headers: IncomingHttpHeaders): void {
    const code = headers['grpc-status'];
    if (code !== undefined) this.code = Number(code);
    // Answered by something on the way that does not speak gRPC.
    else if ((headers[constants.HTTP2_HEADER_STATUS] ?? 200) !== 200) this.code = status.UNKNOWN;
  }
}

function outcomeOf(code: number): Outcome {
  if (code === status.OK) return OUTCOME_OK;
  if (code === status.RESOURCE_EXHAUSTED) return OUTCOME_REJECTED;
  return code === status.DEADLINE_EXCEEDED ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}
