import { REAL_TIME } from '../world/real-time.js';
import type { Time } from '../world/time.js';

/**
 * The clock of this machine, for what measures the machine itself: nanoseconds of its monotonic clock, as an integer. All
 * threads and processes of a machine read the same value; it never jumps.
 */
export const { monotonicNs } = REAL_TIME;

/** Time since an origin, as the core wants it. */
export class Clock {
  constructor(
    /** What it reads; timers that wait for an instant on this clock are set here. */
    readonly time: Time = REAL_TIME,
    /** `monotonicNs` of the instant that counts as 0. */
    readonly originNs: number = time.monotonicNs(),
  ) {}

  nowNs(): number {
    return this.time.monotonicNs() - this.originNs;
  }
}
