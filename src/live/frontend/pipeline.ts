import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import type { Account } from './budget.js';
import { ChunkSlices } from './chunk-slices.js';
import type { ParserError } from './http-problem.js';
import type { FrontendRequest, FrontendResponse } from './http-request.js';
import { KnownHead } from './known-head.js';
import { refuseLast } from './last-refusal.js';
import type { Refusal } from './refusal.js';
import type { RequestTurns } from './request-turns.js';
import { StoppableParser } from './stoppable-parser.js';

/** Requests of a connection that are under way at a time. */
const MOST_UNDER_WAY = 4;
/** What a request that waits behind those counts: about what its objects take. */
const WAITING_BYTES = 4 * KIB;
/** What bytes that wait count: the buffer that the system gave them in. */
const HELD_BYTES = 64 * KIB;

/** What becomes of requests. */
export interface RequestHandler {
  handle(request: FrontendRequest, response: FrontendResponse): void;
  /** A request with a head that was handled before; false: it is to be handled as others are. Calls `over` at its end. */
  handleAgain(head: KnownHead, body: Buffer, socket: Socket, over: () => void): boolean;
  refuse(request: FrontendRequest, response: FrontendResponse, refusal: Refusal): void;
}

/** The requests of one connection. */
export class Pipeline {
  private underWay = 0;
  private begun = 0;
  private waiting: FrontendResponse[] = [];
  private readonly parser: StoppableParser;
  private readonly slices = new ChunkSlices();
  private latest: FrontendRequest | null = null;
  /** Its last request was refused for want of memory: what follows is not looked at. */
  private isFull = false;
  /** What came last is not HTTP; null: all is well. */
  private problem: Refusal | null = null;
  private isGuarded = false;
  private hasTurn = false;
  private isCounted = false;
  /** What had come when its first request began. */
  private firstBytes = 0;
  /** Came when nothing was under way, and was given to Node. */
  private fresh: Buffer | null = null;
  /** Of the last request, while all that came is requests with this head. */
  private head: KnownHead | null = null;
  /** A request with a known head is under way. */
  private isAgain = false;

  constructor(
    private readonly socket: Socket,
    private readonly account: Account,
    private readonly handler: RequestHandler,
    private readonly turns: RequestTurns,
  ) {
    this.parser = new StoppableParser(
      socket,
      () => this.held(),
      (bytes) => this.takeAgain(bytes),
    );
  }

  get clientKey(): string {
    return this.account.clientKey;
  }

  take(request: FrontendRequest, response: FrontendResponse): void {
    if (this.isFull) return;
    this.latest = request;
    if (this.begun === 0) this.firstBytes = this.socket.bytesRead;
    if (request.isChunked) {
      this.parser.holdBody(request);
      request.on('resume', this.wake);
    }
    if (this.underWay < MOST_UNDER_WAY && this.waiting.length === 0) this.begin(request, response);
    else this.wait(response);
  }

  answered(): void {
    this.underWay--;
    if (this.isIdle) this.learn();
    if (this.isHolding) this.awaitTurn();
    else if (this.underWay === 0 && this.problem !== null) this.end(this.problem);
  }

  /** Begins some of the requests that wait, or has Node parse more of what came. */
  proceed(): number {
    this.hasTurn = false;
    const { socket, waiting, parser } = this;
    if (socket.destroyed) return 0;
    const { begun } = this;
    while (waiting.length > 0 && this.underWay < MOST_UNDER_WAY) {
      this.account.giveBack(WAITING_BYTES);
      const response = waiting.shift() as FrontendResponse;
      this.begin(response.req, response);
    }
    const cost = waiting.length === 0 && this.canGoOn ? this.parseOn() : 0;
    if (!parser.isHolding) this.count(false);
    if (!this.isHolding) socket.resume();
    else this.wake();
    return this.begun - begun + cost;
  }

  /** The parser has stopped behind the headers of a request. */
  stopped(where: ParserError): void {
    this.parser.stopped(where);
    this.held();
  }

  break(refusal: Refusal): void {
    // More bytes after those that were wrong.
    if (this.problem !== null) return;
    this.problem = refusal;
    this.parser.drop();
    const { latest } = this;
    // One that waits is refused in its turn.
    if (latest !== null && !latest.complete && this.waiting.at(-1)?.req !== latest) latest.turnAway(refusal);
    if (this.underWay === 0 && this.waiting.length === 0) this.end(refusal);
  }

  /** Nothing of it is under way or waits. */
  private get isIdle(): boolean {
    const { underWay, problem, isFull, latest } = this;
    return underWay === 0 && !this.isHolding && problem === null && !isFull && latest?.complete === true;
  }

  /**
   * Takes a request with a known head. Until it is answered, what follows waits: with bytes that come behind it in the same piece
   * it is none of these.
   */
  private takeAgain(bytes: Buffer): boolean {
    const { head, parser, socket } = this;
    this.head = null;
    this.fresh = null;
    if (this.isAgain) {
      parser.hold(bytes);
      this.held();
      return true;
    }
    if (!this.isIdle) return false;
    const body = head?.bodyIn(bytes) ?? null;
    if (head === null || body === null) {
      this.fresh = bytes;
      return false;
    }
    this.underWay++;
    this.isAgain = true;
    this.head = head;
    if (this.handler.handleAgain(head, body, socket, this.overAgain)) return true;
    this.underWay--;
    this.isAgain = false;
    return false;
  }

  private readonly overAgain = (): void => {
    this.isAgain = false;
    this.answered();
  };

  /** Nothing is left of what came: if that was one request, the next one may have the same head. */
  private learn(): void {
    const { fresh, latest, parser, socket } = this;
    this.fresh = null;
    if (latest === null || latest.response.shouldKeepAlive === false) return;
    if (fresh !== null) this.head = KnownHead.of(fresh, latest);
    // A client whose first request came in one piece.
    else if (this.begun === 1 && this.firstBytes === socket.bytesRead) parser.attach();
  }

  /** Requests wait, or bytes that may hold more. */
  private get isHolding(): boolean {
    return this.waiting.length > 0 || this.parser.isHolding;
  }

  /** Another request may begin, or the rest of the latest one is wanted. */
  private get hasRoom(): boolean {
    if (this.isAgain) return false;
    if (this.underWay < MOST_UNDER_WAY) return true;
    return this.waiting.length === 0 && this.latest?.complete === false;
  }

  /** What it holds can be gone on with: there is room, and who reads the body in chunks wants more of it. */
  private get canGoOn(): boolean {
    const { parser, latest } = this;
    return this.hasRoom && !parser.isBlocked && !(parser.isInChunks && latest?.isPaused());
  }

  /** Has Node parse some of what the parser holds. Returns what it cost, in small requests. */
  private parseOn(): number {
    const { parser, slices, latest } = this;
    const isInChunks = parser.isInChunks && latest !== null;
    const before = latest?.pieces ?? 0;
    const bytes = parser.goOn(isInChunks ? slices.bytes : Number.POSITIVE_INFINITY);
    if (bytes === 0) return 0;
    return isInChunks ? slices.parsed(bytes, latest.pieces - before) : 1;
  }

  /** The parser holds bytes. */
  private held(): void {
    const { parser } = this;
    if (this.isFull || this.problem !== null) {
      parser.drop();
      return;
    }
    const refusal = this.count(true);
    if (refusal !== null) {
      this.break(refusal);
      return;
    }
    this.pause();
    this.wake();
  }

  private begin(request: FrontendRequest, response: FrontendResponse): void {
    this.underWay++;
    this.begun++;
    const { problem, handler } = this;
    if (problem !== null && !request.complete) {
      handler.refuse(request, response, problem);
      return;
    }
    handler.handle(request, response);
    // Who asks before sending a body gets the answer that the request would get, and only then sends.
    if (request.asksFirst && !response.headersSent) response.writeContinue();
  }

  private wait(response: FrontendResponse): void {
    const refusal = this.account.take(WAITING_BYTES);
    if (refusal !== null) {
      this.isFull = true;
      this.underWay++;
      this.parser.stop();
      response.shouldKeepAlive = false;
      this.handler.refuse(response.req, response, refusal);
      return;
    }
    this.waiting.push(response);
    this.parser.stop();
    this.pause();
  }

  /** Whether the connection holds bytes, in the budget. Returns why it may not. */
  private count(isHolding: boolean): Refusal | null {
    if (isHolding === this.isCounted) return null;
    if (!isHolding) this.account.giveBack(HELD_BYTES);
    else {
      const refusal = this.account.take(HELD_BYTES);
      if (refusal !== null) return refusal;
    }
    this.isCounted = isHolding;
    return null;
  }

  private readonly wake = (): void => {
    if (this.isHolding && this.canGoOn) this.awaitTurn();
  };

  private awaitTurn(): void {
    if (this.hasTurn) return;
    this.hasTurn = true;
    this.turns.push(this);
  }

  /** Until nothing waits. */
  private pause(): void {
    const { socket } = this;
    socket.pause();
    if (this.isGuarded) return;
    this.isGuarded = true;
    // Node goes on reading whenever a body is wanted or an answer is sent.
    socket.on('resume', () => {
      if (!this.isHolding) return;
      socket.pause();
      this.wake();
    });
    socket.once('close', () => {
      this.account.giveBack(WAITING_BYTES * this.waiting.length);
      this.waiting = [];
      this.parser.drop();
      this.count(false);
    });
  }

  /** Nothing is owed any more. */
  private end(problem: Refusal): void {
    const { socket, latest } = this;
    // A request that never became complete has had an answer of its own.
    if (latest !== null && !latest.complete) socket.destroySoon();
    else refuseLast(socket, problem);
  }
}
