import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { KIB } from '../../../base/units.js';
import { freeLarge } from '../../free-buffers.js';
import { FEW_PIECES_OF_CALL, isCrumbled } from '../body-collector.js';
import { inKib } from '../budget.js';
import type { Call, RequestQuota } from '../call.js';
import { asRefusal, isClientsFault, Refusal } from '../refusal.js';
import { traceOf } from '../traceparent.js';
import { type Encoding, inflate } from './compression.js';
import { MessageReader, type MessageSink } from './message-reader.js';
import { letGo, RESPONSE_HEADERS, refuseStream, WITH_TRAILERS } from './refuse-stream.js';
import type { RpcOwner } from './rpc-owner.js';
import { STALL_MS, StallWatch } from './stall-watch.js';
import { OK_TRAILERS, trailersOf } from './status.js';
import { listen } from './stream-events.js';

/** What answers one method. */
export interface RpcMethod {
  /** Whether it is called without the token. */
  readonly isOpen: boolean;
  /** Whether the client may send more than one message. */
  readonly isStream: boolean;
  /** Largest message that the client may send, decompressed, too. */
  readonly maxMessageBytes: number;
  /** Takes a message; what it throws is the client's answer. Answers now or later. */
  message(rpc: Rpc, message: Uint8Array<ArrayBuffer>): void;
  /** The client of a stream has sent all. */
  ended?(rpc: Rpc): void;
  /** A call of it is refused. `isAsked`: the service had it before; `label`: of the model that it names, if that is known. */
  refused?(refusal: Refusal, isAsked: boolean, label: number): void;
}

/** Answers that a client of a stream has not read; what is more, and it is not heard until it reads. */
const MAX_UNREAD_BYTES = 1 << 20;

/** What is read at a time. A longer message has a buffer of its own. */
const MOST_SHARED_BYTES = 64 * KIB;

/** One gRPC call: the messages of a client and what answers them. */
export class Rpc implements MessageSink, RequestQuota {
  /** When the client goes away: who waits for something on its behalf may stop. */
  onGone: (() => void) | null = null;
  /** Among the calls of its connection, which puts it there. */
  place = -1;
  /** When it began, by turns of the event loop; its connection sets it. */
  turn = 0;
  /** Of the present message. */
  readBytes = 0;
  /** The service has had a request of it. */
  isAsked = false;
  /** The `label` of the model that it names; 0: not known. */
  label = 0;
  /** What the service has of it. */
  private readonly calls: Call[] = [];
  /** It was refused by no fault of its client. */
  private isExcused = false;
  private pieces = 0;
  private pieceBytes = 0;
  private readonly reader: MessageReader;
  private hasBegun = false;
  /** It is over. */
  destroyed = false;
  private messages = 0;
  /** The client has sent all. */
  private hasEnded = false;
  private endReported = false;
  private heldBytes = 0;
  /** Reasons to hear no more at present. */
  private holds = 0;
  private trailers: Record<string, string> = OK_TRAILERS;
  private readonly stall: StallWatch;

  constructor(
    private readonly stream: ServerHttp2Stream,
    readonly headers: IncomingHttpHeaders,
    readonly method: RpcMethod,
    private readonly owner: RpcOwner,
    private readonly encoding: Encoding,
    /** When its headers came, on the service's clock. */
    readonly arrivalNs: number,
    /** How long the client waits, from then. */
    readonly timeoutNs: number,
    private readonly beganMs: number,
  ) {
    this.stall = new StallWatch(beganMs);
    this.reader = new MessageReader(this, method.maxMessageBytes);
    listen(stream, this);
  }

  get clientKey(): string {
    return this.owner.clientKey;
  }

  get quota(): RequestQuota {
    return this;
  }

  ask(call: Call): Refusal | null {
    const refusal = this.owner.quota.ask(call);
    if (refusal === null) this.calls.push(call);
    return refusal;
  }

  answered(call: Call): void {
    this.calls.splice(this.calls.indexOf(call), 1);
    this.owner.quota.answered(call);
  }

  get trace(): string | null {
    return traceOf(this.headers);
  }

  get isGone(): boolean {
    return this.destroyed;
  }

  /** The service has a request of it. */
  asked(): void {
    this.isAsked = true;
    this.owner.served();
  }

  announced(bytes: number): void {
    if (this.messages > 0 && !this.method.isStream)
      throw new Refusal('invalid', 'this method takes one message');
    this.hold(bytes);
  }

  message(bytes: Uint8Array<ArrayBuffer>, isCompressed: boolean): void {
    this.messages++;
    this.readBytes = 0;
    // It counts for nothing as soon as it is asked. With one too many the connection is closed.
    if (this.messages > 1 && this.owner.another()) return;
    if (isCompressed) this.inflate(bytes);
    else this.take(bytes);
  }

  /** Hears no more of the client before `resume`. Each pause needs one. */
  pause(): void {
    this.holds++;
    this.reader.pause();
    this.stream.pause();
  }

  resume(): void {
    this.holds--;
    if (this.holds > 0 || this.destroyed || this.stream.writableEnded) return;
    this.attempt(() => this.reader.resume());
    // Another message may have paused it again.
    if (this.holds > 0) return;
    this.stream.resume();
    this.checkEnd();
  }

  /** Gives back the memory of a message that is not needed any more. */
  release(bytes: number): void {
    const given = Math.min(inKib(bytes), this.heldBytes);
    this.heldBytes -= given;
    this.owner.giveBack(given);
  }

  /** Sends a message, with its prefix, in as many pieces as it has. */
  send(pieces: readonly Uint8Array[]): void {
    const { stream } = this;
    if (this.destroyed || stream.destroyed) return;
    this.begin();
    if (pieces.length > 1) stream.cork();
    for (const piece of pieces) {
      this.owner.moved(piece.length);
      stream.write(piece);
    }
    if (pieces.length > 1) stream.uncork();
    if (stream.writableLength > MAX_UNREAD_BYTES) {
      this.pause();
      stream.once('drain', () => this.resume());
    }
  }

  /** Ends the call well, if a message is left to send with that. */
  finish(pieces: readonly Uint8Array[] = []): void {
    const { stream } = this;
    if (this.destroyed || stream.destroyed) return;
    this.begin();
    for (const { length } of pieces) this.owner.moved(length);
    const last = pieces.length - 1;
    if (last < 0) {
      stream.end();
    } else {
      if (last > 0) stream.cork();
      for (let i = 0; i < last; i++) stream.write(pieces[i]);
      stream.end(pieces[last]);
      if (last > 0) stream.uncork();
    }
    letGo(this.stream);
  }

  refuse(refusal: Refusal): void {
    if (this.destroyed || this.stream.writableEnded || this.stream.destroyed) return;
    this.method.refused?.(refusal, this.isAsked, this.label);
    this.isExcused = !isClientsFault(refusal.kind);
    if (this.hasBegun) {
      this.trailers = trailersOf(refusal);
      this.stream.end();
      letGo(this.stream);
    } else {
      this.hasBegun = true;
      refuseStream(this.stream, refusal);
    }
  }

  /** Looks after a client that has stopped: call it every second or so. */
  look(nowNs: number, nowMs: number): void {
    if (nowNs - this.arrivalNs > this.timeoutNs)
      this.refuse(new Refusal('timeout', 'the deadline of the call has passed'));
    const unread = this.stream.writableLength;
    if (!this.stall.isStalled(this.reader.progressBytes, unread, nowMs)) return;
    // Waiting for an answer is no fault of the client's, nor is a stream between two messages.
    const isSending = !this.hasEnded && this.holds === 0 && (this.reader.isPartial || this.messages === 0);
    if (unread > 0) {
      this.owner.cutOff(`nothing of the ${unread} bytes of its answer was read within ${STALL_MS / 1000} s`);
      this.stream.close(constants.NGHTTP2_CANCEL);
    } else if (isSending && !(this.method.isStream && !this.reader.isPartial)) {
      const refusal = new Refusal('timeout', `the message has not come within ${STALL_MS / 1000} s`);
      this.owner.cutOff(refusal.message);
      this.refuse(refusal);
    }
  }

  data(chunk: Uint8Array<ArrayBuffer>): void {
    const { owner } = this;
    owner.came(chunk.length);
    this.pieces++;
    this.pieceBytes += chunk.length;
    if (isCrumbled(this.pieces, this.pieceBytes, FEW_PIECES_OF_CALL)) {
      owner.crumbled();
      return;
    }
    if (this.destroyed || this.stream.writableEnded) return;
    this.attempt(() => this.reader.push(chunk));
    if (this.holds === 0) owner.turns.read(this, chunk.length);
  }

  end(): void {
    this.hasEnded = true;
    this.checkEnd();
  }

  closed(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.reader.discard();
    this.release(this.heldBytes);
    this.onGone?.();
    for (const call of this.calls) call.cancel();
    if (!this.isAsked && !this.isExcused) this.owner.idle();
    this.owner.done(this, this.stream.aborted ? performance.now() - this.beganMs : null);
  }

  sendTrailers(): void {
    this.stream.sendTrailers(this.trailers);
  }

  private begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
  }

  /** Throws a refusal. */
  private take(bytes: Uint8Array<ArrayBuffer>): void {
    try {
      this.method.message(this, bytes);
    } catch (error) {
      // Nothing has it, and garbage would stay. A small one is a part of what came with others.
      if (bytes.length > MOST_SHARED_BYTES) freeLarge([bytes]);
      throw error;
    }
  }

  private inflate(bytes: Uint8Array<ArrayBuffer>): void {
    const { encoding, method } = this;
    this.pause();
    inflate(bytes, encoding, method.maxMessageBytes, this, (refusal, inflated) => {
      if (this.destroyed) return;
      this.release(bytes.length);
      if (refusal !== null) this.refuse(refusal);
      else this.attempt(() => this.take(inflated));
      this.resume();
    });
  }

  /** Memory for a part of a message that is being inflated; throws a refusal. */
  hold(bytes: number): void {
    const taken = inKib(bytes);
    this.owner.take(taken);
    this.heldBytes += taken;
  }

  private attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.refuse(asRefusal(error));
    }
  }

  private checkEnd(): void {
    if (!this.hasEnded || this.holds > 0 || this.endReported || this.stream.writableEnded) return;
    this.endReported = true;
    if (this.reader.isPartial) this.refuse(new Refusal('invalid', 'the message is cut off'));
    else if (this.method.isStream) this.attempt(() => this.method.ended?.(this));
    else if (this.messages === 0) this.refuse(new Refusal('invalid', 'the call has no message'));
  }
}
