import { NS_PER_MS } from '../../../../base/units.js';
import type { Time, Timer } from '../../../../base/world/time.js';
import type { SeatState } from '../../../wire/protocol.js';
import { type Candidacy, Election } from '../election.js';

/** A controller that stands for the seats of its workers: carries out what its election chooses. */
export class Candidate {
  private readonly election: Election;
  private again: Timer | null = null;

  /** What the controller calls itself. */
  readonly controller: string;

  constructor(
    candidacy: Candidacy,
    private readonly take: (link: number, term: number) => void,
    private readonly time: Time,
  ) {
    this.controller = candidacy.controller;
    this.election = new Election(candidacy);
  }

  opened(link: number): void {
    this.election.opened(link, this.nowMs());
  }

  closed(link: number): void {
    this.election.closed(link);
    this.choose();
  }

  seatIs(link: number, seat: SeatState | null): void {
    this.election.seatIs(link, seat, this.nowMs());
    this.choose();
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
