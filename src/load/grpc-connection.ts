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
} from '../core/request.js';
import { decodeOutputs } from './grpc-api.js';
import { type Lack, noAnswer, plainLine, type Reply } from './reply.js';
import type { Done } from './target.js';
import type { Message } from './template.js';

/** What gRPC puts before a message: not compressed, and its length. */
export const PREFIX_BYTES = 5;
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
  private problem = '';
  private session: Session | null = null;
  private retryAtMs = 0;

  constructor(
    /** http: or https:. */
    private readonly authority: string,
    private readonly tls: Pick<SecureClientSessionOptions, 'ca' | 'rejectUnauthorized'>,
    private readonly headers: OutgoingHttpHeaders,
    /** Of an answer; absent: none. */
    private readonly keptBytes?: number,
  ) {}

  /** `head` begins with the prefix that gRPC puts before each message. */
  send({ head, tail }: Message, done: Done, headers = this.headers): void {
    // It was closed a moment ago, and its event is still to come.
    if (this.session?.http2.closed || this.session?.http2.destroyed) this.session = null;
    if (this.session === null && performance.now() < this.retryAtMs) {
      this.lose(done, 'neverSent');
      return;
    }
    this.session ??= this.open();
    const { session } = this;
    session.calls++;
    const stream = session.http2.request(headers);
    if (tail !== null) stream.write(head);
    stream.end(tail ?? head);
    const kept = this.keptBytes === undefined ? null : new KeptMessage(stream, this.keptBytes);
    new Call(stream, (answer) => {
      session.calls--;
      if (answer === null) this.lose(done, session.isOpen ? 'lost' : 'neverSent');
      else done(outcomeOf(answer.code), answer.code === status.OK ? successOf(kept) : replyOf(answer));
    });
  }

  /** Forgets requests that wait until the connection is open. */
  dropUnsent(): number {
    const { session } = this;
    if (session === null || session.isOpen) return 0;
    const { calls } = session;
    session.http2.destroy();
    this.session = null;
    return calls;
  }

  /** What is outstanding is not answered any more. */
  close(): void {
    this.session?.http2.destroy();
  }

  private lose(done: Done, lack: Lack): void {
    const reply = noAnswer(this.problem, lack);
    setTimeout(() => done(OUTCOME_ERROR, reply), RETRY_MS);
  }

  private open(): Session {
    const http2 = connect(this.authority, {
      ...this.tls,
      // As many requests as there are; Node would refuse some of them at 10 MB.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    });
    const session = { http2, isOpen: false, calls: 0 };
    const leave = () => {
      if (this.session === session) this.session = null;
    };
    http2.once('connect', () => {
      // Node tells it in a later turn.
      if (http2.destroyed) return;
      session.isOpen = true;
      http2.setLocalWindowSize(WINDOW_BYTES);
    });
    http2.on('error', (error) => {
      this.problem = error.message || String((error as NodeJS.ErrnoException).code);
      this.retryAtMs = performance.now() + RETRY_MS;
      leave();
    });
    http2.once('goaway', leave);
    http2.once('close', () => {
      this.problem ||= 'the server closed the connection';
      leave();
    });
    return session;
  }
}

/** A connection with the calls on it that have not ended. */
interface Session {
  readonly http2: ClientHttp2Session;
  /** The server has accepted it. */
  isOpen: boolean;
  calls: number;
}

interface Answer {
  readonly code: number;
  readonly message: string;
}

const SUCCESS: Reply = { status: 'gRPC OK', message: '' };

function successOf(kept: KeptMessage | null): Reply {
  return kept === null ? SUCCESS : { ...SUCCESS, outputs: () => decodeOutputs(kept.message()) };
}

/** The message that answers a call, up to a number of bytes. */
class KeptMessage {
  private readonly parts: Buffer[] = [];
  private bytes = 0;

  constructor(
    stream: ClientHttp2Stream,
    private readonly mostBytes: number,
  ) {
    stream.on('data', (part: Buffer) => {
      this.bytes += part.length;
      if (this.bytes <= mostBytes) this.parts.push(part);
    });
  }

  /** Without the prefix of gRPC. Throws where it is too long. */
  message(): Buffer {
    if (this.bytes > this.mostBytes) throw new Error('an answer is longer than any that was expected');
    return Buffer.concat(this.parts).subarray(PREFIX_BYTES);
  }
}

function replyOf({ code, message }: Answer): Reply {
  return { status: `gRPC ${status[code] ?? code}`, message };
}

/** Tells the answer of one call; null: it ended without. */
class Call {
  private answer: Answer | null = null;

  constructor(stream: ClientHttp2Stream, ended: (answer: Answer | null) => void) {
    stream.on('response', (headers) => this.read(headers));
    stream.on('trailers', (headers) => this.read(headers));
    // The connection reports it.
    stream.on('error', () => {});
    stream.on('close', () => ended(this.answer));
    stream.resume();
  }

  private read(headers: IncomingHttpHeaders): void {
    const code = headers['grpc-status'];
    const http = headers[constants.HTTP2_HEADER_STATUS] ?? 200;
    if (code !== undefined) this.answer = { code: Number(code), message: messageOf(headers) };
    // Answered by something in between that does not speak gRPC.
    else if (http !== 200)
      this.answer = { code: status.UNKNOWN, message: `HTTP ${http}, without a gRPC status` };
  }
}

/** Written with percent signs, as the protocol wants it. */
function messageOf(headers: IncomingHttpHeaders): string {
  const text = String(headers['grpc-message'] ?? '');
  try {
    return plainLine(decodeURIComponent(text));
  } catch {
    return plainLine(text);
  }
}

function outcomeOf(code: number): Outcome {
  if (code === status.OK) return OUTCOME_OK;
  if (code === status.RESOURCE_EXHAUSTED) return OUTCOME_REJECTED;
  return code === status.DEADLINE_EXCEEDED ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
}
