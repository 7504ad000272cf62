import { type LeaseState, MOST_TERM, outranks } from '../../wire/protocol.js';

/** Time for which the known drivers must stay unchanged while some workers cannot be reached. */
const SETTLE_MS = 300;
/** Time for which a standby leaves workers without a driver to others. */
const STANDBY_DELAY_MS = 3000;

/** Parameters of a controller's candidacy for the leader leases of workers. */
interface Candidacy {
  /** Name of the controller, the same for all of them. */
  readonly controller: string;
  /** True if it prefers that another drives. */
  readonly isStandby: boolean;
}

/** Next steps. */
interface Choice<Link> {
  /** Links to ask for their leases. */
  readonly takes: readonly Link[];
  readonly term: number;
  /** Delay until the next choice if nothing happens; null: none needed. */
  readonly againMs: number | null;
}

/**
 * Decides whose leader leases a controller asks for, so that one controller drives all workers. A controller
 * that drives none asks only if no worker within its reach is driven; one that drives some also asks for the others
 * where it may have them.
 */
export class Election<Link> {
  /** By link: driver of its worker; null: unreachable. */
  private readonly leases = new Map<Link, LeaseState | null>();
  /** Links that were asked, without an answer yet. */
  private readonly asked = new Set<Link>();
  /** Links that have granted their leases. */
  private readonly granted = new Set<Link>();
  private term = 0;
  private changedMs = 0;
  /** Time at which the first worker was reached. */
  private firstMs: number | null = null;
  /** True if it also asks for leases that their drivers yield. */
  takesOver = false;

  constructor(private readonly candidacy: Candidacy) {}

  opened(link: Link, nowMs: number): void {
    this.leases.set(link, null);
    this.changedMs = nowMs;
  }

  closed(link: Link): void {
    this.leases.delete(link);
    this.asked.delete(link);
    this.granted.delete(link);
  }

  /** `lease` null: the worker is no longer reachable. */
  leaseIs(link: Link, lease: LeaseState | null, nowMs: number): void {
    if (!this.leases.has(link)) return;
    const isOurs = this.isOurs(lease) && (this.asked.has(link) || this.granted.has(link));
    if (!this.isOutdated(link, lease)) this.asked.delete(link);
    if (isOurs) {
      this.granted.add(link);
      this.takesOver = false;
    } else this.granted.delete(link);
    if (lease !== null) this.firstMs ??= nowMs;
    if (lease !== null || this.leases.get(link) !== null) this.changedMs = nowMs;
    this.leases.set(link, lease);
  }

  choose(nowMs: number): Choice<Link> {
    const reached = [...this.leases.values()].filter((lease) => lease !== null);
    if (this.granted.size === 0 && this.asked.size === 0) {
      if (reached.length === 0 || !reached.every((lease) => this.isFree(lease))) return this.wait(null);
      const waitMs = this.waitMs(nowMs, reached);
      if (waitMs > 0) return this.wait(waitMs);
      // At the largest term, which only a faulty controller claims, names decide.
      this.term = Math.min(MOST_TERM, Math.max(...reached.map(({ term }) => term)) + 1);
    }
    return this.take();
  }

  /** True if sent before the worker was asked for its lease, which it will grant: later states are never outranked. */
  private isOutdated(link: Link, lease: LeaseState | null): boolean {
    if (lease === null || this.isOurs(lease) || !this.asked.has(link)) return false;
    return lease.controller === '' || outranks(this.own(), lease);
  }

  private own(): LeaseState {
    return { term: this.term, controller: this.candidacy.controller };
  }

  private take(): Choice<Link> {
    const { term, leases, asked, granted } = this;
    const own = this.own();
    const takes = [...leases].flatMap(([link, lease]) => {
      if (lease === null || asked.has(link) || granted.has(link)) return [];
      return this.isFree(lease) || (granted.size > 0 && outranks(own, lease)) ? link : [];
    });
    for (const link of takes) asked.add(link);
    return { takes, term, againMs: null };
  }

  /** Takes a lease that one of its own broken connections still seems to hold. */
  private isFree(lease: LeaseState): boolean {
    return lease.controller === '' || this.isOurs(lease) || (this.takesOver && lease.yields === true);
  }

  private isOurs(lease: LeaseState | null): boolean {
    return lease?.controller === this.candidacy.controller;
  }

  private wait(againMs: number | null): Choice<Link> {
    return { takes: [], term: this.term, againMs };
  }

  private waitMs(nowMs: number, reached: readonly LeaseState[]): number {
    const isWhole = reached.length === this.leases.size;
    const settleMs = isWhole ? 0 : this.changedMs + SETTLE_MS - nowMs;
    const isNew = reached.every(({ term }) => term === 0);
    const standbyDelayMs =
      this.candidacy.isStandby && isNew ? (this.firstMs ?? nowMs) + STANDBY_DELAY_MS - nowMs : 0;
    return Math.max(0, settleMs, standbyDelayMs);
  }
}
