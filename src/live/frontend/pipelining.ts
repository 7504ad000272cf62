import type { Socket } from 'node:net';
import type { FrontendRequest, FrontendResponse } from './http-request.js';

/** Requests that a connection may have sent ahead of their answers. Clients that pipeline at all send a few. */
const MOST_AHEAD = 100;

/**
 * Cuts off connections that send many requests without waiting for an answer: they hold memory, and all that one
 * packet holds is read before any other connection gets its turn. An answer would have to wait for those before it.
 */
export class Pipelining {
  private readonly ahead = new WeakMap<Socket, number>();
  private readonly finished: (this: FrontendResponse) => void;

  constructor() {
    const { ahead } = this;
    this.finished = function () {
      const { socket } = this.req;
      ahead.set(socket, (ahead.get(socket) ?? 1) - 1);
    };
  }

  /** Whether a request is to be looked at; it may come from a connection that is cut off already. */
  admits({ socket }: FrontendRequest, response: FrontendResponse): boolean {
    if (socket.destroyed) return false;
    const ahead = (this.ahead.get(socket) ?? 0) + 1;
    if (ahead > MOST_AHEAD) {
      socket.destroy();
      return false;
    }
    this.ahead.set(socket, ahead);
    response.on('finish', this.finished);
    return true;
  }
}
