import { FairQueue } from './codec/fair-queue.js';

/** A connection that has requests to begin or bytes to parse. */
export interface Waiting {
  /** Whose turn it takes. */
  readonly clientKey: string;
  /** Does a little of it, which takes as long as about so many requests. */
  proceed(): number;
}

/**
 * Small requests take some 50 µs each. A new connection is accepted in each turn of the event loop, so that turns must be
 * short for those who wait in line.
 */
export const TURN_REQUESTS = 16;

/** Requests that were sent ahead are begun by turns, some in each turn of the event loop, so that others get in between. */
export class RequestTurns {
  private readonly waiting = new FairQueue<Waiting>();
  private isDue = false;
  private readonly next = () => this.begin();

  /** `share`: requests of a turn. */
  constructor(private readonly share = TURN_REQUESTS) {}

  hasWaiting(client: string): boolean {
    return this.waiting.has(client);
  }

  push(connection: Waiting): void {
    this.waiting.push(connection.clientKey, connection);
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(this.next);
  }

  private begin(): void {
    this.isDue = false;
    for (let left = this.share; left > 0; ) {
      const connection = this.waiting.shift();
      if (connection === undefined) return;
      left -= connection.proceed();
    }
    if (this.isDue || this.waiting.isEmpty) return;
    this.isDue = true;
    setImmediate(this.next);
  }
}
