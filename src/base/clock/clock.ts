/**
 * The one clock of live mode: nanoseconds of the machine's monotonic clock, as an integer. All threads and
 * processes of a machine read the same value; it never jumps.
 */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}

/** Time since an origin, as the core wants it. */
export class Clock {
  constructor(
    /** `monotonicNs` of the instant that counts as 0. */
    readonly originNs: number = monotonicNs(),
  ) {}

  nowNs(): number {
    return monotonicNs() - this.originNs;
  }
}
