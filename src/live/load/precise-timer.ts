import { NS_PER_MS } from '../../core/units.js';
import type { Clock } from '../clock.js';

/**
 * The last part of a wait, in which the event loop turns without sleeping: timers of Node come up to 1 ms late,
 * a turn of the loop takes microseconds.
 */
const SPIN_NS = 1.5 * NS_PER_MS;
/** Longest wait that `setTimeout` takes. */
const LONGEST_MS = 2 ** 31 - 1;

/** Calls back at an instant, within microseconds while the event loop is free. Holds one instant at a time. */
export class PreciseTimer {
  /** The instant it waits for; Infinity: none. */
  atNs = Number.POSITIVE_INFINITY;
  private sleep: NodeJS.Timeout | null = null;
  private spin: NodeJS.Immediate | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly callback: () => void,
  ) {}

  /** Waits for `atNs` instead of what it waited for; never calls back from within this call. */
  set(atNs: number): void {
    this.clear();
    if (atNs === Number.POSITIVE_INFINITY) return;
    this.atNs = atNs;
    const sleepMs = Math.floor((atNs - this.clock.nowNs() - SPIN_NS) / NS_PER_MS);
    if (sleepMs >= 1) this.sleep = setTimeout(() => this.set(this.atNs), Math.min(sleepMs, LONGEST_MS));
    else this.spin = setImmediate(this.turn);
  }

  clear(): void {
    this.atNs = Number.POSITIVE_INFINITY;
    if (this.sleep !== null) clearTimeout(this.sleep);
    if (this.spin !== null) clearImmediate(this.spin);
    this.sleep = null;
    this.spin = null;
  }

  private readonly turn = (): void => {
    if (this.clock.nowNs() < this.atNs) {
      this.spin = setImmediate(this.turn);
      return;
    }
    this.clear();
    this.callback();
  };
}
