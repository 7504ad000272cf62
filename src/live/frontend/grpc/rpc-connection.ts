import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Account } from '../budget.js';
import type { RequestQuota } from '../call.js';
import type { ReadingTurns } from '../reading-turns.js';
import { TURN_REQUESTS } from '../request-turns.js';
import { Slots } from '../slots.js';
import { type CallTurns, TURN_CALLS } from './call-turns.js';
import { FEW_STREAMS } from './connection-shares.js';
import { FloodWatch } from './flood-watch.js';
import type { Rpc } from './rpc.js';
import type { EndedCall, RpcOwner } from './rpc-owner.js';
import { WaitingCalls } from './waiting-calls.js';

/** How long a client may take to say that it speaks HTTP/2. */
const SILENT_MS = 10_000;
/** A connection without calls is asked after this time whether it is still there, and has so long to answer. */
const KEEPALIVE_MS = 60_000;
const KEEPALIVE_TIMEOUT_MS = 20_000;

/** Pieces of this length and more cost no more than their bytes do. */
const LONG_PIECE_BYTES = 256;
/** So many shorter ones take as long as a call. */
const PIECES_PER_CALL = 8;

/** What a connection works with. */
interface ConnectionParts {
  readonly session: ServerHttp2Session;
  /** Below it, after TLS. The session's own is a proxy, and asking thousands of those each second takes long. */
  readonly socket: Socket;
  readonly account: Account;
  readonly turns: ReadingTurns;
  /** Whose turn it is to be read. */
  readonly callTurns: CallTurns;
  /** It was closed for a flood. */
  flooded(): void;
  /** It, or a call of it, was cut off because it is too slow. */
  cutOff(why: string): void;
}

/** What Node reads a connection with, which it does not document. */
interface ReadingSocket extends Socket {
  readonly _handle?: { readStart(): void; readStop(): void } | null;
}

/**
 * One connection of a gRPC client: its calls, and what keeps it from harm. Where its client brings many calls in a turn of the
 * event loop, or it is new, it is read again when its turn comes: otherwise those of hundreds of connections are begun
 * before another client's is.
 */
export class RpcConnection implements RpcOwner {
  private readonly calls = new Slots<Rpc>();
  private readonly flood = new FloodWatch();
  /** The most that it brought in a turn, less with each turn since. */
  expectedCalls = TURN_REQUESTS;
  /** In the present turn of the event loop, or the last one that had any. */
  turnCalls = 0;
  private lastTurn = -1;
  private readonly waiting = new WaitingCalls((stream) => this.gaveUp(stream));
  /** Of messages, in all. */
  private shortPieces = 0;
  private hasSpoken = false;
  /** It has brought an inference. */
  hasServed = false;
  /** It is about to be closed: its calls are not looked at any more. */
  isFlooded = false;
  /** Since when it is read. */
  private readMs = Number.POSITIVE_INFINITY;
  /** When something of it was last heard. */
  private heardMs = performance.now();
  private pingedMs = 0;

  constructor(private readonly parts: ConnectionParts) {
    const { session } = parts;
    session.on('remoteSettings', () => {
      this.hasSpoken = true;
      this.closeIf(this.flood.controlFrame());
    });
    session.on('ping', () => this.closeIf(this.flood.controlFrame()));
    session.on('error', (error: NodeJS.ErrnoException) => this.closeIf(this.isFlood(error)));
    session.once('close', () => parts.callTurns.close(this));
    parts.callTurns.open(this);
  }

  /** A call has come. `begin` is called now, or when it is this connection's turn if its client has had its share of this one. */
  called(stream: ServerHttp2Stream, begin: () => void): void {
    this.flood.called();
    const isOver = this.takeTurn();
    if (isOver || this.waiting.isAny) this.waiting.push(stream, begin);
    else begin();
  }

  /**
   * Its client gave a call up before it was begun. With its message that has cost less than an inference; without, it was
   * made in vain.
   */
  gaveUp({ readableLength }: ServerHttp2Stream): void {
    this.closeIf(this.flood.reset(0, readableLength > 0));
  }

  /** Its turn has come. */
  proceed(): number {
    const { reading } = this;
    const isNew = this.readMs === Number.POSITIVE_INFINITY;
    if (isNew) this.readMs = performance.now();
    if (reading === undefined || this.isFlooded || this.parts.callTurns.holds(this)) return 0;
    const begun = this.waiting.begin(TURN_CALLS);
    if (this.isFlooded) return begun;
    if (this.waiting.isAny) {
      this.parts.callTurns.wait(this);
      return begun;
    }
    this.parts.callTurns.release(this);
    reading.readStart();
    const calls = Math.max(1, Math.min(this.expectedCalls, TURN_REQUESTS));
    this.expectedCalls = isNew ? 0 : this.expectedCalls / 2;
    return begun + calls;
  }

  stop(): void {
    this.reading?.readStop();
  }

  get isFull(): boolean {
    return this.parts.account.isFull;
  }

  another(): boolean {
    this.takeTurn();
    return this.idle();
  }

  /** Returns whether that was one too many: the connection is closed. */
  idle(): boolean {
    return this.closeIf(this.flood.idle());
  }

  served(): void {
    this.hasServed = true;
    this.flood.served();
  }

  began(rpc: Rpc): void {
    rpc.place = this.calls.add(rpc);
    rpc.turn = this.parts.callTurns.now;
    this.heardMs = performance.now();
  }

  done(call: EndedCall, gaveUpAfterMs: number | null): void {
    this.calls.take(call.place);
    if (gaveUpAfterMs === null) return;
    // What is read at once came together, however long the calls in between took.
    const afterMs = call.turn === this.parts.callTurns.now ? 0 : gaveUpAfterMs;
    this.closeIf(this.flood.reset(afterMs, call.isAsked));
  }

  came(bytes: number): void {
    this.flood.moved(bytes);
    if (bytes >= LONG_PIECE_BYTES) return;
    this.shortPieces++;
    if (this.shortPieces % PIECES_PER_CALL === 0) this.takeTurn();
  }

  moved(bytes: number): void {
    this.flood.moved(bytes);
  }

  crumbled(): void {
    this.closeIf(true);
  }

  cutOff(why: string): void {
    this.parts.cutOff(why);
  }

  get turns(): ReadingTurns {
    return this.parts.turns;
  }

  get clientKey(): string {
    return this.parts.account.clientKey;
  }

  get quota(): RequestQuota {
    return this.parts.account;
  }

  take(bytes: number): void {
    const refusal = this.parts.account.take(bytes);
    if (refusal !== null) throw refusal;
  }

  giveBack(bytes: number): void {
    this.parts.account.giveBack(bytes);
  }

  /** Call it every second. */
  look(nowNs: number, nowMs: number): void {
    this.lookAtBytes();
    this.flood.second(this.readBytes);
    for (const rpc of this.calls) rpc.look(nowNs, nowMs);
    if (!this.hasSpoken && nowMs - this.readMs > SILENT_MS) {
      this.cutOff(`it has not begun to speak HTTP/2 within ${SILENT_MS / 1000} s`);
      this.destroy();
    } else this.keepAlive(nowMs);
  }

  /** Frames of most kinds are seen by what they add up to alone. */
  lookAtBytes(): void {
    this.closeIf(this.flood.hasRead(this.readBytes));
  }

  drain(): void {
    const { session } = this.parts;
    if (!this.hasSpoken) this.destroy();
    else if (!session.closed) session.close();
  }

  destroy(): void {
    this.parts.session.destroy();
  }

  /** A call, or a message of a stream, has come. */
  private takeTurn(): boolean {
    const { callTurns } = this.parts;
    if (this.lastTurn !== callTurns.now) this.turnCalls = 0;
    this.lastTurn = callTurns.now;
    this.turnCalls++;
    this.expectedCalls = Math.max(this.expectedCalls, this.turnCalls);
    return callTurns.came(this);
  }

  private get reading() {
    const { session, socket } = this.parts;
    return session.destroyed ? undefined : ((socket as ReadingSocket)._handle ?? undefined);
  }

  /** Of frames, after TLS. */
  private get readBytes(): number {
    const { session, socket } = this.parts;
    return session.destroyed ? 0 : socket.bytesRead;
  }

  /** A client that does not answer a ping in time has gone without a word. */
  private keepAlive(nowMs: number): void {
    const { session } = this.parts;
    if (session.destroyed || session.closed) return;
    if (this.pingedMs > 0) {
      if (nowMs - this.pingedMs <= KEEPALIVE_TIMEOUT_MS) return;
      this.cutOff(`it has not answered a ping within ${KEEPALIVE_TIMEOUT_MS / 1000} s`);
      this.destroy();
    } else if (nowMs - this.heardMs > KEEPALIVE_MS) {
      this.pingedMs = nowMs;
      session.ping(() => {
        this.pingedMs = 0;
        this.heardMs = performance.now();
      });
    }
  }

  /** Returns whether it is closed for a flood. */
  private closeIf(isFlood: boolean): boolean {
    const { session } = this.parts;
    if (!isFlood) return false;
    if (this.isFlooded) return true;
    this.isFlooded = true;
    // Also where the connection is gone: the client may be back.
    this.parts.flooded();
    this.reading?.readStop();
    // Not at once: Node would free a stream that it may be working with, and abort. Its last GOAWAY is what a client goes by.
    setImmediate(() => session.destroy(new Error('a flood'), constants.NGHTTP2_ENHANCE_YOUR_CALM));
    return true;
  }

  /** Whether Node itself closed it for a flood: of pieces of headers, of empty data, or of calls beyond its limit. */
  private isFlood({ code, errno }: NodeJS.ErrnoException): boolean {
    if (code === 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES' || errno === TOO_MANY_CONTINUATIONS) return true;
    return errno === PROTOCOL_ERROR && this.flood.callsOfSecond >= FEW_STREAMS;
  }
}

/** nghttp2's number for too many pieces of headers, which Node has no code of its own for. */
const TOO_MANY_CONTINUATIONS = -905;
/**
 * The same for what HTTP/2 forbids, such as a call beyond the limit once the client has acknowledged it. One that brought as
 * many calls as any connection may have open has cost as much as a flood; a scanner of ports brings none.
 */
const PROTOCOL_ERROR = -505;
