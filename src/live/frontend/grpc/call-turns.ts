import { FairQueue } from '../codec/fair-queue.js';
import { RequestTurns, TURN_REQUESTS, type Waiting } from '../request-turns.js';

/** A connection that is read by turns if it, or its client, brings many calls. */
interface ReadConnection extends Waiting {
  /** Its client has about as many requests under way as it may. */
  readonly isFull: boolean;
  /** Calls that it is thought to bring in a turn. */
  readonly expectedCalls: number;
  /** Calls that it brought in this turn. */
  readonly turnCalls: number;
  /** It has brought an inference. */
  readonly hasServed: boolean;
  /** It is not read until it proceeds. */
  stop(): void;
}

/**
 * Calls of a client that begin in a turn while others are there, which wait for several turns each: to be read, and to get
 * an answer's head, message and end.
 */
export const TURN_CALLS = 4;
/** A client that is full is read so rarely: its next calls could only be refused. */
const PAUSE_MS = 10;
/** Connections with fewer calls do not wait for those with more. */
const LIGHT_CALLS = 2;
/** After a flood, the client's connections without an inference are not read for so long: each may be the next one. */
const HOLD_MS = 100;
/** A client is alone when no other has been there for so long. */
const ALONE_MS = 1000;

/**
 * When connections are read. A turn of the event loop begins 4 calls of a client, however many connections they come on:
 * what else was read with them, and its connections, then wait for a turn. A client that is alone gets longer turns, which
 * cost less: only a connection that brings more than 16 itself waits. While a client has about as many requests under way
 * as it may, each 10 ms begin 16.
 */
export class CallTurns {
  /** Counts those turns of the event loop in which calls came. */
  now = 0;
  /** Calls of this turn by client. */
  private readonly calls = new Map<string, number>();
  /** Connections that are read whenever something comes, by client. */
  private readonly free = new Map<string, Set<ReadConnection>>();
  /** Those whose turn it is: nothing stops them before they were read. */
  private readonly current = new Set<ReadConnection>();
  private readonly light = new RequestTurns(TURN_CALLS);
  private readonly heavy = new RequestTurns(TURN_CALLS);
  private readonly full = new FairQueue<ReadConnection>();
  private timer: NodeJS.Timeout | null = null;
  /** Connections that are not read now because another one of their client was a flood, by client. */
  private readonly held = new Map<string, ReadConnection[]>();
  /** The client that came last, and when it was another one than before. */
  private latest = '';
  private changedMs = Number.NEGATIVE_INFINITY;
  private readonly endTurn = () => {
    this.calls.clear();
    this.now++;
  };
  private readonly endReading = () => {
    for (const connection of this.current) this.setFree(connection);
    this.current.clear();
  };
  private readonly proceedFull = () => {
    this.timer = null;
    for (let left = TURN_REQUESTS * this.full.clients; left > 0; ) {
      const connection = this.full.shift();
      if (connection === undefined) return;
      if (connection.isFull) left -= connection.proceed();
      else this.push(connection);
    }
    this.timer = setTimeout(this.proceedFull, PAUSE_MS);
  };

  /** It is new, and waits for its turn. */
  open(connection: ReadConnection): void {
    this.note(connection.clientKey);
    connection.stop();
    this.wait(connection);
  }

  /** A call on `connection` has come. Returns whether its client has had its share of this turn. */
  came(connection: ReadConnection): boolean {
    const { clientKey } = connection;
    this.note(clientKey);
    if (this.calls.size === 0) setImmediate(this.endTurn);
    const calls = (this.calls.get(clientKey) ?? 0) + 1;
    this.calls.set(clientKey, calls);
    const isOver = calls > TURN_CALLS && performance.now() - this.changedMs < ALONE_MS;
    const brings = isOver || connection.turnCalls > TURN_REQUESTS;
    if (brings || this.isWaiting(clientKey) || connection.isFull) this.hold(connection);
    // Otherwise all that have something would be read in this turn.
    if (isOver) for (const each of this.free.get(clientKey) ?? []) this.hold(each);
    return isOver;
  }

  /** It is not read before its turn. */
  wait(connection: ReadConnection): void {
    if (!connection.isFull) {
      this.push(connection);
      return;
    }
    this.full.push(connection.clientKey, connection);
    this.timer ??= setTimeout(this.proceedFull, PAUSE_MS);
  }

  /** A connection of `client` was closed for a flood: what else it has opened without an inference may bring the next one. */
  flooded(client: string): void {
    if (this.held.has(client)) return;
    const held: ReadConnection[] = [];
    this.held.set(client, held);
    for (const connections of [this.current, this.free.get(client) ?? []])
      for (const connection of connections) {
        if (connection.clientKey !== client || connection.hasServed || !this.close(connection)) continue;
        connection.stop();
        held.push(connection);
      }
    setTimeout(() => {
      this.held.delete(client);
      for (const connection of held) this.wait(connection);
    }, HOLD_MS);
  }

  /** Its turn has come; whether it has to wait because its client is held back. It proceeds later then. */
  holds(connection: ReadConnection): boolean {
    if (connection.hasServed || this.held.size === 0) return false;
    const held = this.held.get(connection.clientKey);
    held?.push(connection);
    return held !== undefined;
  }

  /** Its turn has come. After that it is read whenever something comes. */
  release(connection: ReadConnection): void {
    // After this turn, or the next one if this one has read already.
    if (this.current.size === 0) setImmediate(this.endReading);
    this.current.add(connection);
  }

  /** It is closed. Returns whether it was being read. */
  close(connection: ReadConnection): boolean {
    if (this.current.delete(connection)) return true;
    const { clientKey } = connection;
    const free = this.free.get(clientKey);
    if (free === undefined || !free.delete(connection)) return false;
    if (free.size === 0) this.free.delete(clientKey);
    return true;
  }

  private note(client: string): void {
    if (client === this.latest) return;
    if (this.latest !== '') this.changedMs = performance.now();
    this.latest = client;
  }

  private setFree(connection: ReadConnection): void {
    const { clientKey } = connection;
    const free = this.free.get(clientKey);
    if (free === undefined) this.free.set(clientKey, new Set([connection]));
    else free.add(connection);
  }

  private hold(connection: ReadConnection): void {
    if (!this.close(connection)) return;
    connection.stop();
    this.wait(connection);
  }

  private push(connection: ReadConnection): void {
    const turns = connection.expectedCalls < LIGHT_CALLS ? this.light : this.heavy;
    turns.push(connection);
  }

  private isWaiting(client: string): boolean {
    return this.light.hasWaiting(client) || this.heavy.hasWaiting(client) || this.full.has(client);
  }
}
