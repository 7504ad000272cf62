/** Maximum relative drift of two clocks: PHI of RFC 5905, the frequency tolerance of NTP. */
export const MAX_DRIFT = 15e-6;

/**
 * Estimates how far a worker's clock is ahead of the controller's, from round trips: the worker read its clock at some
 * instant between sending and receiving, so the midpoint is off by at most half of the round trip. As a round trip
 * ages, drift adds to that error at the same rate for all: the one with the smallest error today keeps the smallest
 * error, so only the best has to be kept, and it is replaced as soon as a newer one is better (the clock filter of NTP,
 * RFC 5905, section 10). Reads no clock. All times are integers in ns.
 */
export class ClockSync {
  /** Number of round trips. */
  samples = 0;
  /** Worker's clock minus controller's. */
  offsetNs = 0;
  /** Length and start of the round trip behind the offset. */
  roundTripNs = Number.POSITIVE_INFINITY;
  sentNs = 0;

  /**
   * Adds a round trip: sent and received by the controller's clock, answered in between by the worker's. One that
   * contradicts the best so far replaces it: a clock has jumped, or drifted faster than assumed.
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

  /** Maximum error of the offset at `nowNs` of the controller's clock. Infinity: no round trip yet. */
  errorNs(nowNs: number): number {
    return errorOf(this.roundTripNs, nowNs - this.sentNs);
  }
}

/** Half of the round trip, plus the drift since it began; rounded up, plus one for the rounding of the midpoint. */
function errorOf(roundTripNs: number, ageNs: number): number {
  return Math.ceil(roundTripNs / 2 + ageNs * MAX_DRIFT) + 1;
}
