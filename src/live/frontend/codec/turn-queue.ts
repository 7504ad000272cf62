import { FairQueue } from './fair-queue.js';

/** Whose turn it is. */
export interface Turn {
  /** An account's `clientKey`. */
  readonly client: string;
  /** Index of the tenant. */
  readonly tenant: number;
}

/**
 * A queue in which clients take turns, and the tenants of a client among themselves. Behind a proxy all tenants are one client,
 * and a client gets no more by naming many tenants.
 */
export class TurnQueue<Item> {
  /** A client moves to the end of the map when it had its turn. */
  private readonly clients = new Map<string, FairQueue<Item, number>>();

  push({ client, tenant }: Turn, item: Item): void {
    let queue = this.clients.get(client);
    if (queue === undefined) {
      queue = new FairQueue();
      this.clients.set(client, queue);
    }
    queue.push(tenant, item);
  }

  /** The next item; undefined: there is none. */
  shift(): Item | undefined {
    for (const [client, queue] of this.clients) {
      const item = queue.shift();
      this.clients.delete(client);
      if (!queue.isEmpty) this.clients.set(client, queue);
      return item;
    }
    return undefined;
  }

  remove({ client, tenant }: Turn, item: Item): void {
    const queue = this.clients.get(client);
    if (queue === undefined) return;
    queue.remove(tenant, item);
    if (queue.isEmpty) this.clients.delete(client);
  }
}
