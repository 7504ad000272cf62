import type { Socket } from 'node:net';
import type { FrontendRequest, FrontendResponse } from './http-request.js';

/** Requests of a connection that are under way at a time. The others wait, and the connection is not read meanwhile. */
const MOST_UNDER_WAY = 4;
/** Those that may wait: what was read at once is parsed at once, and a packet may hold a thousand. */
const MOST_WAITING = 100;

/** What one connection has asked for. */
interface Line {
  underWay: number;
  /** In order. */
  readonly waiting: FrontendResponse[];
  /** It is to be paused, or is. */
  isHeld: boolean;
}

/**
 * Takes the requests of each connection a few at a time, as answers must go back in order anyway. A client that sends
 * thousands ahead neither fills the scheduler's queue with them nor memory: the rest stays with it.
 */
export class Pipelining {
  private readonly lines = new WeakMap<Socket, Line>();
  private readonly finished: (this: FrontendResponse) => void;

  constructor(private readonly handle: (request: FrontendRequest, response: FrontendResponse) => void) {
    const end = (response: FrontendResponse) => this.end(response.req.socket);
    this.finished = function () {
      end(this);
    };
  }

  /** Handles a request now, or when its turn has come. */
  take(request: FrontendRequest, response: FrontendResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    let line = this.lines.get(socket);
    if (line === undefined) {
      line = { underWay: 0, waiting: [], isHeld: false };
      this.lines.set(socket, line);
    }
    if (line.underWay < MOST_UNDER_WAY) this.begin(line, response);
    else if (line.waiting.length < MOST_WAITING) {
      line.waiting.push(response);
      hold(socket, line);
    } else {
      line.waiting.length = 0;
      socket.destroy();
    }
  }

  private begin(line: Line, response: FrontendResponse): void {
    line.underWay++;
    response.on('finish', this.finished);
    this.handle(response.req, response);
  }

  private end(socket: Socket): void {
    const line = this.lines.get(socket) as Line;
    line.underWay--;
    const next = line.waiting.shift();
    if (next === undefined || socket.destroyed) return;
    this.begin(line, next);
    if (line.waiting.length > 0) hold(socket, line);
    else {
      line.isHeld = false;
      socket.resume();
    }
  }
}

/** After this turn's reads: taking a body that waited makes Node read on. */
function hold(socket: Socket, line: Line): void {
  line.isHeld = true;
  setImmediate(pauseHeld, socket, line);
}

function pauseHeld(socket: Socket, { isHeld }: Line): void {
  if (isHeld && !socket.destroyed) socket.pause();
}
