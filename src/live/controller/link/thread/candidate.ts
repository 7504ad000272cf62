import { monotonicNs } from '../../../../base/clock/clock.js';
import { NS_PER_MS } from '../../../../base/units.js';
import type { SeatState } from '../../../wire/protocol.js';
import { type Candidacy, Election } from '../election.js';

/** A controller that stands for the seats of its workers: carries out what its election chooses. */
export class Candidate {
  private readonly election: Election;
  private again: NodeJS.Timeout | undefined;

  /** What the controller calls itself. */
  readonly controller: string;

  constructor(
    candidacy: Candidacy,
    private readonly take: (link: number, term: number) => void,
  ) {
    this.controller = candidacy.controller;
    this.election = new Election(candidacy);
  }

  opened(link: number): void {
    this.election.opened(link, nowMs());
  }

  closed(link: number): void {
    this.election.closed(link);
    this.choose();
  }

  seatIs(link: number, seat: SeatState | null): void {
    this.election.seatIs(link, seat, nowMs());
    this.choose();
  }

  private choose(): void {
    clearTimeout(this.again);
    const { takes, term, againMs } = this.election.choose(nowMs());
    for (const link of takes) this.take(link, term);
    if (againMs !== null) this.again = setTimeout(() => this.choose(), Math.ceil(againMs));
  }
}

function nowMs(): number {
  return monotonicNs() / NS_PER_MS;
}
