import type { ArrivalSource } from '../../core/arrivals.js';

interface MixedSourceOptions {
  readonly clients: number;
  /** By model: its share of the requests. */
  readonly mix: readonly number[];
  readonly sloNs: number;
  /** Nothing arrives from then on. */
  readonly endNs: number;
}

/**
 * Clients that send the next request as soon as the last one was answered. The model of a request depends on the mix
 * alone, so that a fast model does not get more requests.
 */
export class MixedSource implements ArrivalSource {
  model: number;
  readonly sloNs: number;
  /** Clients that may send, with the earliest time; in order of time. */
  private readonly ready: { readonly user: number; readonly timeNs: number }[];
  private readonly turns: Turns;
  private endNs: number;

  constructor({ clients, mix, sloNs, endNs }: MixedSourceOptions) {
    this.ready = Array.from({ length: clients }, (_, user) => ({ user, timeNs: 0 }));
    this.turns = new Turns(mix);
    this.sloNs = sloNs;
    this.endNs = endNs;
    this.model = this.turns.next();
  }

  get timeNs(): number {
    const { timeNs = Number.POSITIVE_INFINITY } = this.ready[0] ?? {};
    return timeNs < this.endNs ? timeNs : Number.POSITIVE_INFINITY;
  }

  /** Stops arrivals. */
  end(): void {
    this.endNs = 0;
  }

  get user(): number {
    return this.ready[0]?.user ?? 0;
  }

  advance(): void {
    this.ready.shift();
    this.model = this.turns.next();
  }

  answered(user: number, nowNs: number): void {
    this.ready.push({ user, timeNs: nowNs });
  }
}

/**
 * Deals turns in proportion to weights, as evenly as possible: after any number of turns, none is a whole turn ahead of
 * its share (smooth weighted round robin).
 */
export class Turns {
  private readonly credit: Float64Array;
  private readonly total: number;

  /** At least one weight must be positive; zero weights get no turn. */
  constructor(private readonly weights: readonly number[]) {
    this.credit = new Float64Array(weights.length);
    this.total = weights.reduce((sum, weight) => sum + weight, 0);
  }

  next(): number {
    let first = 0;
    for (let i = 0; i < this.credit.length; i++) {
      this.credit[i] += this.weights[i];
      if (this.credit[i] > this.credit[first]) first = i;
    }
    this.credit[first] -= this.total;
    return first;
  }
}
