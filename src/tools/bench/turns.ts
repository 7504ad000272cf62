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
