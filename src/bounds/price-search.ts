import type { PriceCurve } from './price-curve.js';

/** How much a slice's price is changed at first, as a logarithm, when it is off by its whole time; at least and most. */
const FIRST_RATE = 0.1;
const LEAST_RATE = 0.005;
const MOST_RATE = 0.5;
/** What the rate is multiplied by when a slice is off in the same direction again, and when it is off in the other. */
const SAME_DIRECTION = 1.2;
const OTHER_DIRECTION = 0.5;

/**
 * Moves each slice's price towards the one at which the time that is wanted is the time that there is, at a rate of
 * its own: faster as long as the direction stays the same, slower once it passed the goal ("resilient propagation",
 * Riedmiller and Braun 1993).
 */
export class PriceSearch {
  private readonly rate: Float64Array;
  /** By how much of its time each slice was off in the last step. */
  private readonly last: Float64Array;

  constructor(private readonly curve: PriceCurve) {
    this.rate = new Float64Array(curve.perNs.length).fill(FIRST_RATE);
    this.last = new Float64Array(curve.perNs.length);
  }

  /** `usedNs`: time of each slice that is wanted at the present prices. */
  step(usedNs: Float64Array): void {
    const { rate, last } = this;
    const { perNs, openNs } = this.curve;
    for (let j = 0; j < perNs.length; j++) {
      if (openNs[j] === 0) continue;
      const off = Math.min(1, usedNs[j] / openNs[j] - 1);
      if (off * last[j] > 0) rate[j] = Math.min(MOST_RATE, rate[j] * SAME_DIRECTION);
      else if (off * last[j] < 0) rate[j] = Math.max(LEAST_RATE, rate[j] * OTHER_DIRECTION);
      last[j] = off;
      perNs[j] *= Math.exp(rate[j] * off);
    }
  }
}
