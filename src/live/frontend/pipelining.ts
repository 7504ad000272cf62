import type { Socket } from 'node:net';
import type { ParserError } from './http-problem.js';
import type { FrontendRequest, FrontendResponse } from './http-request.js';
import type { HttpSite } from './http-site.js';
import { Pipeline, type RequestHandler } from './pipeline.js';
import type { Refusal } from './refusal.js';
import { RequestTurns } from './request-turns.js';

/**
 * Takes the requests of each connection a few at a time, as answers must go back in order anyway. What else a client sent
 * ahead waits its turn, most of it unread: thousands of requests fill neither the scheduler's queue nor memory, nor do
 * they keep the event loop from others.
 */
export class Pipelining {
  private readonly pipelines = new WeakMap<Socket, Pipeline>();
  private readonly turns = new RequestTurns();
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

  /** Call it with each new connection, after Node has set it up. */
  open(socket: Socket): void {
    const pipeline = new Pipeline(socket, this.site.accountOf(socket), this.handler, this.turns);
    this.pipelines.set(socket, pipeline);
    this.turns.accepted();
  }

  /** Handles a request now, or when its turn has come. */
  take(request: FrontendRequest, response: FrontendResponse): void {
    const { socket } = request;
    // What comes after the end is part of a packet that had come before it.
    if (socket.destroyed) return;
    response.on('finish', this.finished);
    this.pipelines.get(socket)?.take(request, response);
  }

  /** The parser has stopped where it was asked to. */
  stopped(socket: Socket, where: ParserError): void {
    this.pipelines.get(socket)?.stopped(where);
  }

  /** Its client hung up in the middle of a request. Hundreds may do so at once, so each is seen to in its turn. */
  hungUp(socket: Socket, refusal: Refusal): void {
    const pipeline = this.pipelines.get(socket);
    if (pipeline === undefined) return;
    const proceed = () => {
      pipeline.break(refusal);
      return 1;
    };
    this.turns.push({ clientKey: pipeline.clientKey, proceed });
  }

  /** Something came that is not HTTP, or ends it. What came before is answered first. */
  broken(socket: Socket, refusal: Refusal): void {
    this.pipelines.get(socket)?.break(refusal);
  }
}
