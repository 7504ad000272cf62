/** Whose turn it is. */
export interface Turn {
  /** An account's `clientKey`. */
  readonly client: string;
  /** Index of the tenant. */
  readonly tenant: number;
}

interface Sized<Item> {
  readonly item: Item;
  readonly bytes: number;
}

/**
 * A queue in which clients take turns, and the tenants of a client among themselves. Behind a proxy all tenants are one client,
 * and a client gets no more by naming many tenants. Turns go by bytes: as long as others wait, a large item costs as many turns
 * as the small ones that it is as large as.
 */
export class TurnQueue<Item> {
  private readonly clients = new Flows<string, Flows<number, Sized<Item>[]>>();

  push({ client, tenant }: Turn, item: Item, bytes: number): void {
    this.clients
      .of(client, () => new Flows())
      .of(tenant, () => [])
      .push({ item, bytes });
  }

  /** How many items wait for that turn. */
  waiting({ client, tenant }: Turn): number {
    return this.clients.get(client)?.get(tenant)?.length ?? 0;
  }

  /** The next item; undefined: there is none. */
  shift(): Item | undefined {
    const client = this.clients.next();
    const tenant = client?.content.next();
    const first = tenant?.content.shift();
    if (client === undefined || tenant === undefined || first === undefined) return undefined;
    client.content.took(tenant, first.bytes);
    this.clients.took(client, first.bytes);
    this.clean(client.key, tenant.key);
    return first.item;
  }

  remove({ client, tenant }: Turn, item: Item): void {
    const items = this.clients.get(client)?.get(tenant);
    const at = items?.findIndex((each) => each.item === item) ?? -1;
    if (at < 0) return;
    items?.splice(at, 1);
    this.clean(client, tenant);
  }

  /** Those with nothing left are forgotten. */
  private clean(client: string, tenant: number): void {
    const tenants = this.clients.get(client);
    if (tenants?.get(tenant)?.length === 0) tenants.delete(tenant);
    if (tenants?.isEmpty) this.clients.delete(client);
  }
}

interface Flow<Key, Content> {
  readonly key: Key;
  readonly content: Content;
  takenBytes: number;
}

/** Who waits, and what each has taken: a newcomer is taken for the one that was served last. */
class Flows<Key, Content> {
  private readonly flows = new Map<Key, Flow<Key, Content>>();
  private startBytes = 0;

  get isEmpty(): boolean {
    return this.flows.size === 0;
  }

  get(key: Key): Content | undefined {
    return this.flows.get(key)?.content;
  }

  of(key: Key, make: () => Content): Content {
    let flow = this.flows.get(key);
    if (flow === undefined) {
      flow = { key, content: make(), takenBytes: this.startBytes };
      this.flows.set(key, flow);
    }
    return flow.content;
  }

  /** The one that has taken least, and of several the one that came first. */
  next(): Flow<Key, Content> | undefined {
    let least: Flow<Key, Content> | undefined;
    for (const flow of this.flows.values())
      if (least === undefined || flow.takenBytes < least.takenBytes) least = flow;
    return least;
  }

  took(flow: Flow<Key, Content>, bytes: number): void {
    this.startBytes = flow.takenBytes;
    flow.takenBytes += bytes;
  }

  delete(key: Key): void {
    this.flows.delete(key);
  }
}
