import type { RunObserver } from '../../core/observer.js';
import { OUTCOME_NAMES, OUTCOME_OK, type Outcome, type RequestTable } from '../../core/request.js';

/** A request that was not answered within its SLO. */
interface MissedRequest {
  readonly request: number;
  readonly model: string;
  readonly outcome: string;
  readonly arrivalNs: number;
  readonly sloNs: number;
  readonly latencyNs: number;
}

/** Counts the outcomes of a replay, and remembers the first requests that were not ok. */
export class OutcomeList implements RunObserver {
  /** By outcome. */
  readonly counts: number[] = OUTCOME_NAMES.map(() => 0);
  readonly missed: MissedRequest[] = [];

  /** `limit`: requests to remember; `nameOf`: the name of the model that is in a slot now. */
  constructor(
    private readonly limit: number,
    private readonly nameOf: (model: number) => string,
  ) {}

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    this.counts[outcome]++;
    if (outcome === OUTCOME_OK || this.missed.length >= this.limit) return;
    const arrivalNs = requests.arrivalNs[slot];
    this.missed.push({
      request: requests.id[slot],
      model: this.nameOf(requests.model[slot]),
      outcome: OUTCOME_NAMES[outcome],
      arrivalNs,
      sloNs: requests.sloNs[slot],
      latencyNs: nowNs - arrivalNs,
    });
  }

  completed(): void {
    // Only answers count.
  }
}
