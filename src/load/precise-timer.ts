import { Worker as Thread } from 'node:worker_threads';
import type { Clock } from '../base/clock/clock.js';
import { compiledNextTo } from '../base/compiled.js';
import { NS_PER_MS } from '../base/units.js';
import { Signal } from '../live/transfer.js';

/** Longest wait that turns the event loop: waking another thread is not worth it. */
const TURN_NS = 0.03 * NS_PER_MS;
/** Longest delay that `setTimeout` accepts. */
const LONGEST_MS = 2 ** 31 - 1;

/** Start-up data of an alarm's thread. */
export interface AlarmSpec {
  readonly signal: SharedArrayBuffer;
  /** One number: time of the alarm on the machine's monotonic clock. */
  readonly at: SharedArrayBuffer;
}

/**
 * Calls back at an instant, 0.1 ms late while the event loop is free. Holds one instant at a time.
 *
 * Node's timers fire up to 1 ms late. Turning the event loop until the instant would be precise, but costs a fifth of
 * the throughput of other cores (measured: ResNet-18 with 540 waits a second). So a separate thread blocks until the
 * instant and then sends a message.
 */
export class PreciseTimer {
  /** Instant of the pending call; Infinity: none. */
  atNs = Number.POSITIVE_INFINITY;
  private readonly signal = new Signal();
  private readonly at = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)).fill(
    Number.POSITIVE_INFINITY,
  );
  private readonly thread: Thread;
  private isOnline = false;
  /** True if the thread will raise the alarm at `at`. */
  private isArmed = false;
  private sleep: NodeJS.Timeout | null = null;
  private turn: NodeJS.Immediate | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly callback: () => void,
  ) {
    const spec: AlarmSpec = { signal: this.signal.buffer, at: this.at.buffer as SharedArrayBuffer };
    this.thread = new Thread(compiledNextTo(import.meta.url, 'alarm-thread.js'), { workerData: spec });
    this.thread.once('online', () => {
      this.isOnline = true;
    });
    this.thread.on('message', () => {
      this.isArmed = false;
      this.check();
    });
    // Something else keeps a waiting caller's process alive.
    this.thread.unref();
  }

  /** Replaces the pending instant; never calls back from within this call. */
  set(atNs: number): void {
    this.clear();
    if (atNs === Number.POSITIVE_INFINITY) return;
    this.atNs = atNs;
    const leftNs = atNs - this.clock.nowNs();
    if (leftNs <= TURN_NS) this.turn = setImmediate(this.check);
    else if (this.isOnline) this.arm(this.clock.originNs + atNs);
    else this.sleep = setTimeout(this.check, Math.min(Math.ceil(leftNs / NS_PER_MS), LONGEST_MS));
  }

  clear(): void {
    this.atNs = Number.POSITIVE_INFINITY;
    if (this.sleep !== null) clearTimeout(this.sleep);
    if (this.turn !== null) clearImmediate(this.turn);
    this.sleep = null;
    this.turn = null;
  }

  /** Ends the thread for good. */
  close(): void {
    this.clear();
    this.signal.stop();
  }

  /** Arms the alarm. One raised too early notices this itself, so a later instant needs no wake-up. */
  private arm(monotonicAtNs: number): void {
    if (this.isArmed && this.at[0] <= monotonicAtNs) return;
    this.at[0] = monotonicAtNs;
    this.isArmed = true;
    this.signal.raise();
  }

  private readonly check = (): void => {
    if (this.atNs === Number.POSITIVE_INFINITY) return;
    if (this.clock.nowNs() < this.atNs) {
      this.set(this.atNs);
      return;
    }
    this.clear();
    this.callback();
  };
}
