import { monotonicNs } from '../base/clock/clock.js';

/** What a signal is made of, as it crosses into another thread. */
export type SignalBuffer = SharedArrayBuffer;

/** Cells of the shared memory. */
const COUNT = 0;
const STOPPED = 1;

/**
 * A blocked thread returns up to this late when its time has come (measured on Linux: p90 0.10 ms, p99 0.16 ms).
 * So it is woken this much early, and looks at the clock for the rest.
 */
const LATE_WAKE_NS = 150_000;
const NS_PER_MS = 1_000_000;

/**
 * Wakes a thread that blocks until it has a message. The sender posts the message first and raises the signal then;
 * the receiver reads `count` first, looks for messages then, and waits only as long as the count is still the same.
 * So no message is slept through.
 */
export class Signal {
  private readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer: SignalBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.cells = new Int32Array(buffer);
  }

  get count(): number {
    return Atomics.load(this.cells, COUNT);
  }

  raise(): void {
    Atomics.add(this.cells, COUNT, 1);
    Atomics.notify(this.cells, COUNT);
  }

  /** The thread is to end as soon as it can. */
  stop(): void {
    Atomics.store(this.cells, STOPPED, 1);
    this.raise();
  }

  get stopped(): boolean {
    return Atomics.load(this.cells, STOPPED) === 1;
  }

  /** Blocks this thread until the count is no longer `count`, or until about the time; Infinity: no time. */
  block(count: number, untilNs: number): void {
    const blockNs = untilNs - monotonicNs();
    if (blockNs > 0) Atomics.wait(this.cells, COUNT, count, blockNs / NS_PER_MS);
  }

  /** The same until the time to the microsecond: looks at the clock at last. */
  wait(count: number, untilNs: number): void {
    this.block(count, untilNs - LATE_WAKE_NS);
    while (this.count === count && monotonicNs() < untilNs);
  }
}
