import type { Socket } from 'node:net';

/** Calls of one connection that are answered at a time; others wait at the client. */
export const MAX_STREAMS = 128;
/** The same of a client's connections beyond those that may have all its requests under way. */
export const FEW_STREAMS = 16;

/**
 * Which connections may have many calls open: as many of each client as it takes to have all the requests under way that a
 * client may. A call takes memory as soon as its headers are there, and the collector's time, however long it then waits.
 */
export class ConnectionShares {
  /** Connections with many calls, by client. */
  private readonly counts = new Map<string, number>();
  private readonly most: number;

  constructor(clientRequests: number) {
    this.most = Math.ceil(clientRequests / MAX_STREAMS);
  }

  /** Whether the connection, which is new, may have many calls open. */
  take(client: string, socket: Socket): boolean {
    const count = this.counts.get(client) ?? 0;
    if (count >= this.most) return false;
    this.counts.set(client, count + 1);
    socket.once('close', () => this.giveBack(client));
    return true;
  }

  private giveBack(client: string): void {
    const count = (this.counts.get(client) ?? 0) - 1;
    if (count > 0) this.counts.set(client, count);
    else this.counts.delete(client);
  }
}
