import { NS_PER_MS } from '../../../../base/units.js';
import type { Time, Timer } from '../../../../base/world/time.js';
import type { LeaseState } from '../../../wire/protocol.js';
import { type Candidacy, Election } from '../election.js';

/** A controller's candidacy for the leader leases of its workers: carries out the choices of its election. */
export class LeaderElector {
  private readonly election: Election;
  private again: Timer | null = null;
  /** By process of a worker: link that has it. */
  private readonly processes = new Map<string, number>();
  /** By link. `isNamed`: only a certain process is acceptable. */
  private readonly addresses = new Map<number, { readonly address: string; readonly isNamed: boolean }>();

  /** Name of the controller. */
  readonly controller: string;

  constructor(
    candidacy: Candidacy,
    private readonly take: (link: number, term: number) => void,
    private readonly time: Time,
  ) {
    this.controller = candidacy.controller;
    this.election = new Election(candidacy);
  }

  opened(link: number, address: string, isNamed: boolean): void {
    this.addresses.set(link, { address, isNamed });
    this.election.opened(link, this.nowMs());
  }

  closed(link: number): void {
    this.release(link);
    this.addresses.delete(link);
    this.election.closed(link);
    this.choose();
  }

  /** Like `AgentCandidacy`. A dynamic worker yields to the same static worker. */
  otherAddress(link: number, instance: string): string | null {
    const { processes, addresses } = this;
    const holder = processes.get(instance) ?? link;
    const other = addresses.get(holder);
    const givesWay = other?.isNamed === true && addresses.get(link)?.isNamed === false;
    if (holder !== link && other !== undefined && !givesWay) return other.address;
    if (instance !== '') processes.set(instance, link);
    return null;
  }

  leaseIs(link: number, lease: LeaseState | null): void {
    if (lease === null) this.release(link);
    this.election.leaseIs(link, lease, this.nowMs());
    this.choose();
  }

  private release(link: number): void {
    for (const [instance, holder] of this.processes) if (holder === link) this.processes.delete(instance);
  }

  private choose(): void {
    this.again?.cancel();
    const { takes, term, againMs } = this.election.choose(this.nowMs());
    for (const link of takes) this.take(link, term);
    if (againMs !== null) this.again = this.time.after(Math.ceil(againMs), () => this.choose());
  }

  private nowMs(): number {
    return this.time.monotonicNs() / NS_PER_MS;
  }
}
