import { onTestFinished } from 'vitest';
import { NS_PER_MS } from '../../src/base/units.js';
import type { ArrivalSource } from '../../src/core/arrivals.js';
import type { RunObserver } from '../../src/core/observer.js';
import { OUTCOME_NAMES, type Outcome, type RequestTable } from '../../src/core/request.js';
import { openTarget } from '../../src/load/open-target.js';
import type { Done, LoadRequest, LoadTarget, TargetOptions } from '../../src/load/target.js';

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

/** Two classes, of which the second has a priority, and two tenants. */
export const SENDERS = { priorities: [null, 7], header: 'x-tenant', tenants: ['others', 'acme'] };

/** Opens a target that is closed when the test ends. */
export async function open(
  { url }: { readonly url: string },
  options: Partial<TargetOptions> = {},
): Promise<LoadTarget> {
  const target = await openTarget(url, { models: ['a', 'b'], seed: 1, ...options });
  onTestFinished(() => target.close());
  return target;
}

/** Sends a request for the first model. Returns how it ended. */
export function send(target: LoadTarget, request: Partial<LoadRequest> = {}): Promise<Outcome> {
  return new Promise((resolve) =>
    target.send({ model: 0, sloNs: 25 * NS_PER_MS, ...request }, (outcome) => resolve(outcome)),
  );
}
