import type { Clock } from '../../base/clock/clock.js';
import { NS_PER_MS } from '../../base/units.js';
import type { Timer } from '../../base/world/time.js';

/** Node's timers take no longer delays. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * One timer for the next instant at which the core wants to be called. It never fires early; it fires up to a
 * millisecond late, which is less than what spinning on the controller's thread would cost everybody else.
 */
export class WakeTimer {
  private timer: Timer | null = null;
  private atNs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Pick<Clock, 'nowNs' | 'time'>,
    /** Called with how late it is. */
    private readonly wake: (lateNs: number) => void,
  ) {}

  /** Replaces what was set before; Infinity: none. */
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
