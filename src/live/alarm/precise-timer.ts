import { Worker as Thread } from 'node:worker_threads';
import type { Clock } from '../../base/clock/clock.js';
import { compiledNextTo } from '../../base/compiled.js';
import { NS_PER_MS } from '../../base/units.js';
import { Signal } from '../signal.js';

/** A shorter wait is not worth waking another thread: the event loop turns until it is over. */
const TURN_NS = 0.03 * NS_PER_MS;
/** Longest wait that `setTimeout` takes. */
const LONGEST_MS = 2 ** 31 - 1;

/** What the thread of an alarm is given. */
export interface AlarmSpec {
  readonly signal: SharedArrayBuffer;
  /** One number: when to raise the alarm, on the machine's monotonic clock. */
  readonly at: SharedArrayBuffer;
}

/**
 * Calls back at an instant, a tenth of a millisecond late while the event loop is free. Holds one instant at a time.
 *
 * Timers of Node come up to a millisecond late. Turning the event loop until the instant comes would be precise,
 * and takes a fifth off what other cores compute (measured: ResNet-18 with 540 waits a second). So a thread of its
 * own blocks until the instant and then sends a message.
 */
export class PreciseTimer {
  /** The instant it waits for; Infinity: none. */
  atNs = Number.POSITIVE_INFINITY;
  private readonly signal = new Signal();
  private readonly at = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)).fill(
    Number.POSITIVE_INFINITY,
  );
  private readonly thread: Thread;
  private isOnline = false;
  /** The thread will raise the alarm at `at`. */
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
    // A caller that waits has something else that keeps the process alive.
    this.thread.unref();
  }

  /** Waits for `atNs` instead of what it waited for; never calls back from within this call. */
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

  /** Ends its thread; it is not set again. */
  close(): void {
    this.clear();
    this.signal.stop();
  }

  /** An alarm that is raised before the instant finds it out, so a later instant needs no waking. */
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
