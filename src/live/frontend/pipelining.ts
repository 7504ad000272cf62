import type { Socket } from 'node:net';
import { KIB } from '../../base/units.js';
import type { Account } from './budget.js';
import type { FrontendRequest, FrontendResponse } from './http-request.js';
import type { HttpSite } from './http-site.js';
import { refuseLast } from './last-refusal.js';
import type { Refusal } from './refusal.js';

/** Requests of a connection that are under way at a time. */
const MOST_UNDER_WAY = 4;
/** What a request that waits behind those counts: about what its objects take. */
const WAITING_BYTES = 4 * KIB;

/** What becomes of requests. */
interface RequestHandler {
  handle(request: FrontendRequest, response: FrontendResponse): void;
  refuse(request: FrontendRequest, response: FrontendResponse, refusal: Refusal): void;
}

/**
 * Takes the requests of each connection a few at a time, as answers must go back in order anyway. What else was read at
 * once waits, and no more is read until it had its turn: a client that sends thousands ahead fills neither the
 * scheduler's queue nor memory.
 */
export class Pipelining {
  private readonly pipelines = new WeakMap<Socket, Pipeline>();
  private readonly finished: (this: FrontendResponse) => void;

  constructor(
    private readonly site: HttpSite,
    private readonly handler: RequestHandler,
  ) {
    const { pipelines } = this;
    this.finished = function () {
      pipelines.get(this.req.socket)?.answered();
    };
  }

  /** Handles a request now, or when its turn has come. */
  take(request: FrontendRequest, response: FrontendResponse): void {
    const { socket } = request;
    // What comes after the end is part of a packet that had come before it.
    if (socket.destroyed) return;
    response.on('finish', this.finished);
    this.of(socket).take(request, response);
  }

  /** Something came that is not HTTP, or ends it. What came before is answered first. */
  broken(socket: Socket, refusal: Refusal): void {
    this.of(socket).break(refusal);
  }

  private of(socket: Socket): Pipeline {
    let pipeline = this.pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket, this.site.accountOf(socket), this.handler);
      this.pipelines.set(socket, pipeline);
    }
    return pipeline;
  }
}

/** The requests of one connection. */
class Pipeline {
  private underWay = 0;
  private waiting: FrontendResponse[] = [];
  private latest: FrontendRequest | null = null;
  /** Its last request was refused for want of memory: what follows is not looked at. */
  private isFull = false;
  /** What came last is not HTTP; null: all is well. */
  private problem: Refusal | null = null;
  private isGuarded = false;

  constructor(
    private readonly socket: Socket,
    private readonly account: Account,
    private readonly handler: RequestHandler,
  ) {}

  take(request: FrontendRequest, response: FrontendResponse): void {
    if (this.isFull) return;
    this.latest = request;
    if (this.underWay < MOST_UNDER_WAY && this.waiting.length === 0) this.begin(request, response);
    else this.wait(request, response);
  }

  answered(): void {
    this.underWay--;
    const { waiting } = this;
    while (waiting.length > 0 && this.underWay < MOST_UNDER_WAY) {
      this.account.giveBack(WAITING_BYTES);
      const response = waiting.shift() as FrontendResponse;
      if (waiting.length === 0) this.socket.resume();
      this.begin(response.req, response);
    }
    if (this.underWay === 0 && this.problem !== null) this.end(this.problem);
  }

  break(refusal: Refusal): void {
    // More bytes after those that were wrong.
    if (this.problem !== null) return;
    this.problem = refusal;
    const { latest } = this;
    // One that waits is refused in its turn.
    if (latest !== null && !latest.complete && this.waiting.at(-1)?.req !== latest) latest.turnAway(refusal);
    if (this.underWay === 0) this.end(refusal);
  }

  private begin(request: FrontendRequest, response: FrontendResponse): void {
    this.underWay++;
    const { problem, handler } = this;
    if (problem !== null && !request.complete) {
      handler.refuse(request, response, problem);
      return;
    }
    handler.handle(request, response);
    // Who asks before sending a body gets the answer that the request would get, and only then sends.
    if (request.asksFirst && !response.headersSent) response.writeContinue();
  }

  private wait(request: FrontendRequest, response: FrontendResponse): void {
    const refusal = this.account.take(WAITING_BYTES);
    if (refusal !== null) {
      this.isFull = true;
      this.underWay++;
      response.shouldKeepAlive = false;
      this.handler.refuse(request, response, refusal);
      return;
    }
    this.waiting.push(response);
    this.socket.pause();
    if (this.isGuarded) return;
    this.isGuarded = true;
    // Node goes on reading whenever a body is wanted or an answer is sent.
    this.socket.on('resume', () => {
      if (this.waiting.length > 0) this.socket.pause();
    });
    const { stackTraceLimit } = Error;
    // Node makes an error for each request that is left, and most of the time that takes is for traces that are never read.
    this.socket.prependOnceListener('close', () => {
      Error.stackTraceLimit = 0;
    });
    this.socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit;
      this.account.giveBack(WAITING_BYTES * this.waiting.length);
      this.waiting = [];
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
