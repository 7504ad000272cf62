import type { ArrivalSource } from '../../core/arrivals.js';

/**
 * Clients that send their next request as soon as the last one is answered. They take the models in turn, so that a
 * fast model does not get more requests.
 */
export class MixedSource implements ArrivalSource {
  model = 0;
  /** Clients that may send, with their earliest send times, ascending. */
  private readonly ready: { readonly user: number; readonly timeNs: number }[];
  private isEnded = false;

  constructor(
    clients: number,
    private readonly models: number,
    readonly sloNs: number,
  ) {
    this.ready = Array.from({ length: clients }, (_, user) => ({ user, timeNs: 0 }));
  }

  get timeNs(): number {
    return this.isEnded ? Number.POSITIVE_INFINITY : (this.ready[0]?.timeNs ?? Number.POSITIVE_INFINITY);
  }

  /** Stops arrivals. */
  end(): void {
    this.isEnded = true;
  }

  get user(): number {
    return this.ready[0]?.user ?? 0;
  }

  advance(): void {
    this.ready.shift();
    this.model = (this.model + 1) % this.models;
  }

  answered(user: number, nowNs: number): void {
    this.ready.push({ user, timeNs: nowNs });
  }
}
