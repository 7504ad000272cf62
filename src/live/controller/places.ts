import type { Member } from './member.js';

/** Which GPU of the cluster is which of which worker. A number is free again when its worker has left: the lowest goes first. */
export class Places {
  /** By GPU of the cluster; null: free. */
  private readonly held: ({ readonly member: Member; readonly local: number } | null)[] = [];

  /** How many GPUs the cluster has numbers for. */
  get size(): number {
    return this.held.length;
  }

  get free(): number {
    return this.held.reduce((count, place) => count + (place === null ? 1 : 0), 0);
  }

  /** Makes so many more numbers, which are free. */
  grow(count: number): void {
    for (let i = 0; i < count; i++) this.held.push(null);
  }

  /** Gives the member numbers for its GPUs. False: not that many are free. */
  take(member: Member, count: number): boolean {
    const places = this.held.flatMap((place, gpu) => (place === null ? gpu : [])).slice(0, count);
    if (places.length < count) return false;
    member.places = places;
    for (const [local, gpu] of places.entries()) this.held[gpu] = { member, local };
    return true;
  }

  /** The member's numbers are free. */
  giveBack(member: Member): void {
    for (const gpu of member.places) this.held[gpu] = null;
    member.places = [];
  }

  /** Null: no worker has that number. */
  memberOf(gpu: number): Member | null {
    return this.held[gpu]?.member ?? null;
  }

  /** Number of the GPU on its own worker. */
  localOf(gpu: number): number {
    return this.held[gpu]?.local ?? 0;
  }
}
