/** What a limit is multiplied by when its batch took too long: 10 % less (Clipper, NSDI 2017, §4.3.1). */
const BACKOFF = 0.9;

/**
 * The most requests that each model's next batch may have, found by additive increase and multiplicative decrease:
 * a full batch within its SLO raises the limit by a fixed step, one beyond it lowers the limit by 10 %.
 * Limits start at one step.
 */
export class BatchLimits {
  /** With the fraction that many small decreases need. */
  private readonly limits: Float64Array;

  constructor(
    /** By model: what its limit never exceeds. */
    private readonly largest: Int32Array,
    private readonly increase: number,
  ) {
    this.limits = Float64Array.from(largest, (most) => Math.min(most, increase));
  }

  /** Another model is in the slot, whose limit never exceeds `most`. */
  restart(model: number, most: number): void {
    this.largest[model] = most;
    this.limits[model] = Math.min(most, this.increase);
  }

  /** The model's present limit in requests, at least 1. */
  of(model: number): number {
    return Math.floor(this.limits[model]);
  }

  /** A batch of `count` requests was answered after `latencyNs`, for an SLO of `sloNs`. */
  feedback(model: number, count: number, latencyNs: number, sloNs: number): void {
    const limit = this.limits[model];
    if (latencyNs > sloNs) this.limits[model] = Math.max(1, limit * BACKOFF);
    // A batch that was not full says nothing about a larger one.
    else if (count >= this.of(model)) {
      this.limits[model] = Math.min(this.largest[model], limit + this.increase);
    }
  }
}
