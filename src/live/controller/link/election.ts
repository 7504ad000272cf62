import type { SeatState } from '../../wire/protocol.js';
import { outranks } from '../../wire/rank.js';

/** Time for which the known drivers must stay unchanged while some workers cannot be reached. */
const SETTLE_MS = 300;
/** Time for which a standby leaves workers without a driver to others. */
const PATIENCE_MS = 3000;

/** Parameters of a controller's candidacy for the seats of workers. */
export interface Candidacy {
  /** Name of the controller, the same for all of them. */
  readonly controller: string;
  /** True if it prefers that another drives. */
  readonly isStandby: boolean;
}

/** Next steps. */
interface Choice {
  /** Links to ask for their seats. */
  readonly takes: readonly number[];
  readonly term: number;
  /** Delay until the next choice if nothing happens; null: none needed. */
  readonly againMs: number | null;
}

/**
 * Decides whose seats a controller asks for, so that one controller drives all workers (worker.proto). A controller
 * that drives none asks only if no worker within its reach is driven; one that drives some also asks for the others
 * where it may have them.
 */
export class Election {
  /** By link: driver of its worker; null: unreachable. */
  private readonly seats = new Map<number, SeatState | null>();
  /** Links that were asked, without an answer yet. */
  private readonly asked = new Set<number>();
  /** Links that have granted their seats. */
  private readonly granted = new Set<number>();
  private term = 0;
  private changedMs = 0;
  /** Time at which the first worker was reached. */
  private firstMs: number | null = null;

  constructor(private readonly candidacy: Candidacy) {}

  opened(link: number, nowMs: number): void {
    this.seats.set(link, null);
    this.changedMs = nowMs;
  }

  closed(link: number): void {
    this.seats.delete(link);
    this.asked.delete(link);
    this.granted.delete(link);
  }

  /** `seat` null: the worker is no longer reachable. */
  seatIs(link: number, seat: SeatState | null, nowMs: number): void {
    if (!this.seats.has(link)) return;
    const isOurs = this.isOurs(seat) && (this.asked.has(link) || this.granted.has(link));
    if (!this.isOutdated(link, seat)) this.asked.delete(link);
    if (isOurs) this.granted.add(link);
    else this.granted.delete(link);
    if (seat !== null) this.firstMs ??= nowMs;
    if (seat !== null || this.seats.get(link) !== null) this.changedMs = nowMs;
    this.seats.set(link, seat);
  }

  choose(nowMs: number): Choice {
    const reached = [...this.seats.values()].filter((seat) => seat !== null);
    if (this.granted.size === 0 && this.asked.size === 0) {
      if (reached.length === 0 || !reached.every((seat) => this.isFree(seat))) return this.wait(null);
      const waitMs = this.waitMs(nowMs, reached);
      if (waitMs > 0) return this.wait(waitMs);
      this.term = Math.max(...reached.map(({ term }) => term)) + 1;
    }
    return this.take();
  }

  /** True if sent before the worker was asked for its seat, which it will grant: later states are never outranked. */
  private isOutdated(link: number, seat: SeatState | null): boolean {
    if (seat === null || this.isOurs(seat) || !this.asked.has(link)) return false;
    return seat.controller === '' || outranks(this.own(), seat);
  }

  private own(): SeatState {
    return { term: this.term, controller: this.candidacy.controller };
  }

  private take(): Choice {
    const { term, seats, asked, granted } = this;
    const own = this.own();
    const takes = [...seats].flatMap(([link, seat]) => {
      if (seat === null || asked.has(link) || granted.has(link)) return [];
      return this.isFree(seat) || (granted.size > 0 && outranks(own, seat)) ? link : [];
    });
    for (const link of takes) asked.add(link);
    return { takes, term, againMs: null };
  }

  /** A seat that a broken connection of our own still seems to hold is ours to take. */
  private isFree(seat: SeatState): boolean {
    return seat.controller === '' || this.isOurs(seat);
  }

  private isOurs(seat: SeatState | null): boolean {
    return seat?.controller === this.candidacy.controller;
  }

  private wait(againMs: number | null): Choice {
    return { takes: [], term: this.term, againMs };
  }

  private waitMs(nowMs: number, reached: readonly SeatState[]): number {
    const isWhole = reached.length === this.seats.size;
    const settleMs = isWhole ? 0 : this.changedMs + SETTLE_MS - nowMs;
    const isNew = reached.every(({ term }) => term === 0);
    const patienceMs = this.candidacy.isStandby && isNew ? (this.firstMs ?? nowMs) + PATIENCE_MS - nowMs : 0;
    return Math.max(0, settleMs, patienceMs);
  }
}
