/** A queue in which clients take turns, however much each has put in. */
export class FairQueue<Item> {
  /** A client moves to the end of the map when it had its turn. */
  private readonly queues = new Map<string, Item[]>();

  get isEmpty(): boolean {
    return this.queues.size === 0;
  }

  /** Clients that have put something in. */
  get clients(): number {
    return this.queues.size;
  }

  has(client: string): boolean {
    return this.queues.has(client);
  }

  push(client: string, item: Item): void {
    const queue = this.queues.get(client);
    if (queue === undefined) this.queues.set(client, [item]);
    else queue.push(item);
  }

  /** The next item; undefined: there is none. */
  shift(): Item | undefined {
    for (const [client, queue] of this.queues) {
      const item = queue.shift();
      this.queues.delete(client);
      if (queue.length > 0) this.queues.set(client, queue);
      return item;
    }
    return undefined;
  }

  remove(client: string, item: Item): void {
    const queue = this.queues.get(client);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.queues.delete(client);
  }
}
