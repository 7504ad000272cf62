import { type Random, stream } from '../../src/base/random/streams.js';

/** Random choices from a seed for one purpose: what another purpose draws does not change them. */
export class Draw {
  private readonly random: Random;

  constructor(seed: number, name: string) {
    this.random = stream(seed, name);
  }

  /** True in this share of the cases. */
  chance(share: number): boolean {
    return this.random() < share;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** A number whose logarithm is uniform: as often from 1 to 10 as from 10 to 100. */
  real(least: number, most: number): number {
    return least * (most / least) ** this.random();
  }

  /** The same as a whole number. */
  log(least: number, most: number): number {
    return Math.min(most, Math.max(least, Math.round(this.real(least, most))));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)];
  }

  /** A list of so many, the number of which is drawn first. */
  list<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.int(least, most) }, (_, index) => make(index));
  }

  /** The key with a drawn value in this share of the cases; spread it into a section. */
  maybe<T>(share: number, key: string, make: () => T): Readonly<Record<string, T>> {
    return this.chance(share) ? { [key]: make() } : {};
  }

  /** Each of them or not, but one at least. */
  some<T>(from: readonly T[], probability: number): T[] {
    const chosen = from.filter(() => this.chance(probability));
    return chosen.length > 0 ? chosen : [this.pick(from)];
  }
}
