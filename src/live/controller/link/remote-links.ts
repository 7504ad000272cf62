import { NS_PER_MS } from '../../../base/units.js';
import type { Time, Timer } from '../../../base/world/time.js';
import type { ClientTls } from '../../wire/credentials.js';
import type { LeaseState } from '../../wire/protocol.js';
import { type CallWorker, callsFrom } from '../../wire/worker-call.js';
import { REAL_WORLD } from '../../world/real-world.js';
import type { World } from '../../world/world.js';
import { Election } from './election.js';

/** A link as the others of its controller see it. */
interface Candidate {
  /** HOST:PORT. */
  readonly name: string;
  /** True if only one process is acceptable at the address: the dynamic worker that registered. */
  readonly isNamed: boolean;
  /** Asks for the worker's lease. */
  take(term: number): void;
  /** Sets the trusted authority for later connections. */
  renew(tls: ClientTls): void;
}

interface RemoteLinksOptions {
  /** World of the controller's process. Default: the real one. */
  readonly world?: Pick<World, 'time' | 'network' | 'newId'>;
  /** Default: calls from this thread. */
  readonly call?: CallWorker;
  /** See `Candidacy`. */
  readonly isStandby?: boolean;
}

/** Links of a controller to remote workers: asks for the workers' leader leases, as its election chooses. */
export class RemoteLinks {
  readonly time: Time;
  readonly call: CallWorker;
  /** Name of the controller. */
  readonly controller: string;
  private readonly election: Election<Candidate>;
  private again: Timer | null = null;
  private readonly open = new Set<Candidate>();
  /** By process of a worker: link that has it. */
  private readonly holders = new Map<string, Candidate>();

  constructor({ world = REAL_WORLD, call = callsFrom(world), isStandby = false }: RemoteLinksOptions = {}) {
    this.time = world.time;
    this.call = call;
    this.controller = world.newId();
    this.election = new Election({ controller: this.controller, isStandby });
  }

  opened(link: Candidate): void {
    this.open.add(link);
    this.election.opened(link, this.nowMs());
  }

  closed(link: Candidate): void {
    this.release(link);
    this.open.delete(link);
    this.election.closed(link);
    this.choose();
  }

  /**
   * Address of another link to the process, for which a dynamic worker yields to a static one; null: this one has it from
   * now on, until its lease is null.
   */
  otherAddress(link: Candidate, instance: string): string | null {
    const holder = this.holders.get(instance) ?? link;
    if (holder !== link && !(holder.isNamed && !link.isNamed)) return holder.name;
    if (instance !== '') this.holders.set(instance, link);
    return null;
  }

  /** Call when the worker's lease has changed; null: it cannot be reached. */
  leaseIs(link: Candidate, lease: LeaseState | null): void {
    if (lease === null) this.release(link);
    this.election.leaseIs(link, lease, this.nowMs());
    this.choose();
  }

  /** Asks for the leases that their driver yields. */
  takeOver(): void {
    this.election.takesOver = true;
    this.choose();
  }

  /** Sets the trusted authority for later connections of all links. Throws `E_TLS` for an unusable one. */
  renew(tls: ClientTls): void {
    for (const link of this.open) link.renew(tls);
  }

  private release(link: Candidate): void {
    for (const [instance, holder] of this.holders) if (holder === link) this.holders.delete(instance);
  }

  private choose(): void {
    this.again?.cancel();
    const { takes, term, againMs } = this.election.choose(this.nowMs());
    for (const link of takes) link.take(term);
    if (againMs !== null) this.again = this.time.after(Math.ceil(againMs), () => this.choose());
  }

  private nowMs(): number {
    return this.time.monotonicNs() / NS_PER_MS;
  }
}
