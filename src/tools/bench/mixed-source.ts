import { stream } from '../../base/random/streams.js';
import type { ArrivalSource } from '../../core/arrivals.js';
import { ClosedLoopSource } from '../../workload/generators/closed-loop.js';

interface MixedSourceOptions {
  readonly clients: number;
  /** By model: its share of the requests. */
  readonly mix: readonly number[];
  readonly sloNs: number;
  /** Nothing arrives from then on. */
  readonly endNs: number;
}

/**
 * Clients that send the next request as soon as the last one was answered. The model of a request follows from the mix
 * alone, so that a model that is served quickly does not get more requests.
 */
export class MixedSource implements ArrivalSource {
  model: number;
  readonly sloNs: number;
  private readonly clients: ClosedLoopSource;
  private readonly turns: Turns;
  private ended = false;

  constructor({ clients, mix, sloNs, endNs }: MixedSourceOptions) {
    this.clients = new ClosedLoopSource(
      { kind: 'closed-loop', durationNs: endNs, clients, concurrency: 1, thinkNs: 0 },
      {
        models: new Int32Array(1),
        modelNames: [''],
        longest: [Number.POSITIVE_INFINITY],
        sloNs,
        startNs: 0,
        endNs,
        placeOf: (key) => ({ key }),
        random: (purpose) => stream(1, purpose),
      },
    );
    this.turns = new Turns(mix);
    this.sloNs = sloNs;
    this.model = this.turns.next();
  }

  get timeNs(): number {
    return this.ended ? Number.POSITIVE_INFINITY : this.clients.timeNs;
  }

  /** Nothing arrives from now on. */
  end(): void {
    this.ended = true;
  }

  get user(): number {
    return this.clients.user;
  }

  advance(): void {
    this.clients.advance();
    this.model = this.turns.next();
  }

  answered(user: number, nowNs: number): void {
    this.clients.answered(user, nowNs);
  }
}

/**
 * Deals turns in proportion to weights, spread as evenly as possible: after any number of turns, none is a whole turn
 * ahead of its share (smooth weighted round robin).
 */
export class Turns {
  private readonly credit: Float64Array;
  private readonly total: number;

  /** At least one weight is above 0; who has none gets no turn. */
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
