import type { ArrivalSource } from '../core/arrivals.js';

/** An arrival source that may have to wait for a file. All workloads are of this type. */
export interface StreamedSource extends ArrivalSource {
  length: number;
  starved: boolean;
  refill(): Promise<void>;
  requestClass: number;
  tenant: number;
  /** True if requests have lengths of their own, drawn or read from a trace; 0 is none. */
  readonly hasLengths?: boolean;
  /** Upper bound of `user`, exclusive. */
  readonly users: number;
}

/** Visits every arrival of a source, to its end. Rejects with errors of its file. */
export async function drain(source: StreamedSource, visit: (arrival: StreamedSource) => void): Promise<void> {
  for (;;) {
    while (source.starved) await source.refill();
    if (source.timeNs === Number.POSITIVE_INFINITY) return;
    visit(source);
    source.advance();
  }
}

/**
 * Common part of the sources: the pending arrival, in fields that every subclass has in the same order. A subclass
 * calls `advance` once at the end of its constructor, so that the first arrival is pending.
 */
export abstract class BaseSource implements StreamedSource {
  timeNs = 0;
  model = 0;
  sloNs: number;
  length = 0;
  user = 0;
  requestClass = 0;
  tenant = 0;
  starved = false;
  readonly users: number;

  constructor(sloNs: number, users = 1) {
    this.sloNs = sloNs;
    this.users = users;
  }

  abstract advance(): void;

  /** Generators and traces held as counts never starve. */
  async refill(): Promise<void> {}
}
