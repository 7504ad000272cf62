/** A pending timer. */
export interface Timer {
  /** Cancels the timer. No effect if it has fired for the last time. */
  cancel(): void;
  /** Lets the process exit while the timer is pending. */
  unref(): Timer;
}

/**
 * Time of a machine: clock and timers of live mode. The real one is `REAL_TIME`; a simulated world has one for each
 * machine.
 */
export interface Time {
  /** Integer nanoseconds of the machine's monotonic clock, the same for all its threads and processes. */
  monotonicNs(): number;
  /** Runs once, no earlier than after this delay. */
  after(delayMs: number, run: () => void): Timer;
  /** Runs repeatedly until cancelled. */
  every(intervalMs: number, run: () => void): Timer;
  /** Runs once, after all input of this turn of the event loop. */
  soon(run: () => void): void;
}
