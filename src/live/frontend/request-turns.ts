import { FairQueue } from './codec/fair-queue.js';

/** A connection that has requests to begin or bytes to parse. */
interface Waiting {
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
/** Requests may take far longer than that: with numbers as JSON, say. */
const TURN_MS = 2;
/** Turns in a row that only accept connections. */
const ACCEPTING_TURNS = 8;

/** Requests that were sent ahead are begun by turns, some in each turn of the event loop, so that others get in between. */
export class RequestTurns {
  private readonly waiting = new FairQueue<Waiting>();
  private isDue = false;
  private hasAccepted = false;
  /** Since something was begun. */
  private acceptingTurns = 0;
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

  /**
   * A connection was accepted in this turn of the event loop, which accepts one: others may wait behind it. So this turn
   * begins nothing, up to a number of such turns in a row.
   */
  accepted(): void {
    this.hasAccepted = true;
  }

  private begin(): void {
    this.isDue = false;
    const isAccepting = this.hasAccepted && this.acceptingTurns < ACCEPTING_TURNS;
    this.hasAccepted = false;
    this.acceptingTurns = isAccepting ? this.acceptingTurns + 1 : 0;
    const untilMs = performance.now() + TURN_MS;
    for (let left = isAccepting ? 0 : this.share; left > 0 && performance.now() < untilMs; ) {
      const connection = this.waiting.shift();
      if (connection === undefined) return;
      left -= connection.proceed();
    }
    if (this.isDue || this.waiting.isEmpty) return;
    this.isDue = true;
    setImmediate(this.next);
  }
}
