import { OUTCOME_ERROR } from '../core/request.js';
import { type Address, HttpConnection } from './http-connection.js';
import { type Lack, noAnswer } from './reply.js';
import type { Done } from './target.js';
import type { Message } from './template.js';

/** Servers close connections that were idle for 5 s and more (Node's default): one older than this is not used. */
const MOST_IDLE_MS = 4_000;
/** After a connection was refused, the next is tried so much later. */
const RETRY_MS = 100;

interface Waiting {
  readonly message: Message;
  readonly done: Done;
}

/**
 * Connections to one server, opened when they are needed, up to a number; further requests wait in order. A request
 * whose connection fails is answered `error` and not sent again: the server may have executed it.
 */
export class HttpPool {
  waited = 0;

  private readonly connections = new Set<HttpConnection>();
  /** The one used last is used first: the others are left to grow old. */
  private readonly idle: HttpConnection[] = [];
  private waiting: Waiting[] = [];
  /** Element of `waiting` that is next. */
  private next = 0;
  /** Runs while no connection is tried. */
  private retry: NodeJS.Timeout | null = null;

  constructor(
    private readonly address: Address,
    private readonly most: number,
  ) {}

  send(message: Message, done: Done): void {
    const connection = this.take();
    if (connection !== null) connection.send(message, done);
    else {
      if (this.retry === null) this.waited++;
      this.waiting.push({ message, done });
    }
  }

  /** Forgets requests that wait for a connection, or for one that is not open yet. */
  dropUnsent(): number {
    let dropped = this.waiting.length - this.next;
    this.waiting = [];
    this.next = 0;
    for (const connection of this.connections) {
      if (connection.established) continue;
      // Each was opened for a request.
      dropped++;
      connection.destroy();
      this.connections.delete(connection);
    }
    return dropped;
  }

  close(): void {
    if (this.retry !== null) clearTimeout(this.retry);
    this.waiting = [];
    this.next = 0;
    for (const connection of this.connections) connection.destroy();
    this.connections.clear();
    this.idle.length = 0;
  }

  /** Called by a connection. */
  free(connection: HttpConnection): void {
    const waiting = this.takeWaiting();
    if (waiting === null) this.idle.push(connection);
    else connection.send(waiting.message, waiting.done);
  }

  /** Called by a connection. */
  closed(connection: HttpConnection, reason: string, unanswered: Done | null): void {
    this.forget(connection);
    if (unanswered !== null) this.lose(unanswered, reason, connection.established ? 'lost' : 'neverSent');
    if (connection.established) {
      this.serveWaiting();
      return;
    }
    // With connections left, requests can wait for them.
    if (this.connections.size === 0) {
      for (let waiting = this.takeWaiting(); waiting !== null; waiting = this.takeWaiting()) {
        this.lose(waiting.done, reason, 'neverSent');
      }
    }
    this.retry ??= setTimeout(() => {
      this.retry = null;
      this.serveWaiting();
    }, RETRY_MS);
  }

  private lose(done: Done, reason: string, lack: Lack): void {
    done(OUTCOME_ERROR, noAnswer(reason, lack));
  }

  private take(): HttpConnection | null {
    const connection = this.idle.pop();
    if (connection !== undefined) {
      if (performance.now() - connection.freeSinceMs < MOST_IDLE_MS) return connection;
      // The rest is older still.
      for (const old of [connection, ...this.idle]) {
        old.destroy();
        this.connections.delete(old);
      }
      this.idle.length = 0;
    }
    if (this.retry !== null || this.connections.size >= this.most) return null;
    const opened = new HttpConnection(this.address, this);
    this.connections.add(opened);
    return opened;
  }

  private serveWaiting(): void {
    while (this.next < this.waiting.length) {
      const connection = this.take();
      if (connection === null) return;
      const { message, done } = this.takeWaiting() as Waiting;
      connection.send(message, done);
    }
  }

  private takeWaiting(): Waiting | null {
    if (this.next === this.waiting.length) return null;
    const waiting = this.waiting[this.next++];
    // Half of it was taken: moving the rest costs less than taking it did.
    if (this.next * 2 >= this.waiting.length) {
      this.waiting.splice(0, this.next);
      this.next = 0;
    }
    return waiting;
  }

  private forget(connection: HttpConnection): void {
    this.connections.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
  }
}
