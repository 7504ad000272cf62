/** A timer that was set. */
export interface Timer {
  /** It does not fire any more. Does nothing where it has fired for the last time. */
  cancel(): void;
  /** The process does not go on for this alone. */
  unref(): Timer;
}

/**
 * The time of a machine: what live mode reads the clock from, and waits by. The real one is `REAL_TIME`; a simulated world has
 * one of its own for each machine.
 */
export interface Time {
  /** Nanoseconds of the machine's monotonic clock, as an integer. All threads and processes of a machine read the same value. */
  monotonicNs(): number;
  /** Runs once, not earlier than after this delay. */
  after(delayMs: number, run: () => void): Timer;
  /** Runs again and again, until it is cancelled. */
  every(intervalMs: number, run: () => void): Timer;
  /** Runs once, after all that has come in this turn of the event loop. */
  soon(run: () => void): void;
}
