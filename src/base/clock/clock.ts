import { REAL_TIME } from '../world/real-time.js';
import type { Time } from '../world/time.js';

/**
 * Clock of this machine, for measurements of the machine itself: integer nanoseconds of its monotonic clock. All
 * threads and processes of a machine read the same value; it never jumps.
 */
export const { monotonicNs } = REAL_TIME;

/** Time since an origin, in the form that the core uses. */
export class Clock {
  constructor(
    /** Underlying time; timers that wait for an instant on this clock are set here. */
    readonly time: Time = REAL_TIME,
    /** `monotonicNs` at the instant that counts as 0. */
    readonly originNs: number = time.monotonicNs(),
  ) {}

  nowNs(): number {
    return this.time.monotonicNs() - this.originNs;
  }
}
