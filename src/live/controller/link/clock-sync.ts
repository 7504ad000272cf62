/** How fast two clocks may drift apart, as a fraction: PHI of RFC 5905, the frequency tolerance of NTP. */
export const MAX_DRIFT = 15e-6;

/** The round trip that an estimate rests on. */
export interface ClockReading {
  readonly sentNs: number;
  readonly roundTripNs: number;
}

/**
 * Estimates how far a worker's clock is ahead of the controller's, from round trips: the worker read its clock at some
 * instant between sending and receiving, so the middle of the two is wrong by half of the round trip at most. As a
 * round trip ages, drift adds to that error, to all at the same rate: the one with the smallest error today has the
 * smallest error for ever, so that none but the best has to be kept, and it gives way as soon as a newer one is better
 * (the clock filter of NTP, RFC 5905, section 10). Reads no clock. All times are integers in ns.
 */
export class ClockSync implements ClockReading {
  /** Round trips seen. */
  samples = 0;
  /** Worker's clock minus controller's. */
  offsetNs = 0;
  /** Length of the round trip that the offset is from, and when it began. */
  roundTripNs = Number.POSITIVE_INFINITY;
  sentNs = 0;

  /**
   * A round trip: sent and received by the controller's clock, answered in between by the worker's. One that
   * contradicts the best so far replaces it: a clock has jumped then, or drifted faster than is thought possible.
   */
  add(sentNs: number, workerNs: number, receivedNs: number): void {
    this.samples++;
    const offsetNs = workerNs - Math.floor((sentNs + receivedNs) / 2);
    const roundTripNs = receivedNs - sentNs;
    const errorNs = errorOf(roundTripNs, roundTripNs);
    const knownErrorNs = this.errorNs(receivedNs);
    const contradicts = Math.abs(offsetNs - this.offsetNs) > errorNs + knownErrorNs;
    if (errorNs > knownErrorNs && !contradicts) return;
    this.offsetNs = offsetNs;
    this.roundTripNs = roundTripNs;
    this.sentNs = sentNs;
  }

  /** The offset is wrong by this much at most, at `nowNs` of the controller's clock. Infinity: nothing is known. */
  errorNs(nowNs: number): number {
    return clockErrorNs(this, nowNs);
  }
}

/** As `ClockSync.errorNs`, of a reading that came from another thread. */
export function clockErrorNs({ roundTripNs, sentNs }: ClockReading, nowNs: number): number {
  return errorOf(roundTripNs, nowNs - sentNs);
}

/** Half of the round trip, and the drift since it began; rounded up, with one more for the rounding of the middle. */
function errorOf(roundTripNs: number, ageNs: number): number {
  return Math.ceil(roundTripNs / 2 + ageNs * MAX_DRIFT) + 1;
}
