import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_MS } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';

/** Longest delay of Node's timers. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * One timer for the next time at which the core wants to be called. It never fires early; it fires up to 1 ms late,
 * which costs less than spinning on the controller's thread would cost everything else.
 */
export class WakeTimer {
  private timer: Timer | null = null;
  private atNs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Pick<Clock, 'nowNs' | 'time'>,
    /** Called with the delay. */
    private readonly wake: (lateNs: number) => void,
  ) {}

  /** Replaces the pending time; Infinity: none. */
  set(atNs: number): void {
    if (atNs === this.atNs) return;
    this.clear();
    this.atNs = atNs;
    if (atNs !== Number.POSITIVE_INFINITY) this.arm();
  }

  clear(): void {
    this.timer?.cancel();
    this.timer = null;
    this.atNs = Number.POSITIVE_INFINITY;
  }

  private arm(): void {
    const delayMs = Math.ceil((this.atNs - this.clock.nowNs()) / NS_PER_MS);
    this.timer = this.clock.time.after(Math.min(Math.max(delayMs, 0), LONGEST_MS), this.fire);
  }

  private readonly fire = (): void => {
    const lateNs = this.clock.nowNs() - this.atNs;
    if (lateNs < 0) {
      this.arm();
      return;
    }
    this.timer = null;
    this.atNs = Number.POSITIVE_INFINITY;
    this.wake(lateNs);
  };
}
