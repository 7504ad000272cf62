import type { ArrivalSource } from '../../src/core/arrivals.js';
import type { RunObserver } from '../../src/core/observer.js';
import { OUTCOME_NAMES, type Outcome, type RequestTable } from '../../src/core/request.js';
import type { Done, LoadRequest, LoadTarget } from '../../src/load/target.js';

export interface Answer {
  readonly model: number;
  readonly user: number;
  readonly arrivalNs: number;
  readonly nowNs: number;
  readonly outcome: (typeof OUTCOME_NAMES)[number];
}

/** Keeps every answer. */
export class Answers implements RunObserver {
  readonly all: Answer[] = [];

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    this.all.push({
      model: requests.model[slot],
      user: requests.user[slot],
      arrivalNs: requests.arrivalNs[slot],
      nowNs,
      outcome: OUTCOME_NAMES[outcome],
    });
  }

  completed(): void {}

  get outcomes(): string[] {
    return this.all.map(({ outcome }) => outcome);
  }
}

export interface Sent {
  readonly model: number;
  readonly sloNs: number;
  readonly user: number;
  readonly done: Done;
}

/** Gives every request to a function, on a later turn of the event loop. */
export class FakeTarget implements LoadTarget {
  readonly name = 'a test';
  readonly waited = 0;
  readonly sent: Sent[] = [];

  constructor(private readonly handle: (request: Sent, index: number) => void) {}

  send({ model, sloNs, user = 0 }: LoadRequest, done: Done): void {
    const request = { model, sloNs, user, done };
    const index = this.sent.push(request) - 1;
    setImmediate(() => this.handle(request, index));
  }

  close(): void {}
}

/** Requests for model 0 at given times, of user 0, 1, 2, … */
export class ListSource implements ArrivalSource {
  timeNs = 0;
  readonly model = 0;
  user = -1;

  constructor(
    private readonly timesNs: readonly number[],
    public sloNs = 1e12,
  ) {
    this.advance();
  }

  advance(): void {
    this.user++;
    this.timeNs = this.timesNs[this.user] ?? Number.POSITIVE_INFINITY;
  }
}
