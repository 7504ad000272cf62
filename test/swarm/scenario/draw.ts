import { type Random, stream } from '../../../src/base/random/streams.js';

/** Draws of one purpose from the seed of a scenario: what another purpose draws does not change them. */
export class Draw {
  private readonly random: Random;

  constructor(seed: number, purpose: string) {
    this.random = stream(seed, purpose);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** An integer, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** An integer whose logarithm is uniform: as often near 1 ms as near 1 s. */
  log(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.random());
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)];
  }

  /** Each of them or not, but one at least. */
  some<T>(from: readonly T[], probability: number): T[] {
    const chosen = from.filter(() => this.chance(probability));
    return chosen.length > 0 ? chosen : [this.pick(from)];
  }
}
