import { NS_PER_MS } from '../../base/units.js';

/**
 * Tells when a request came. A busy event loop takes nothing in: what it reads right after that may have waited for as
 * long as it was busy, and counts as having come when that began.
 */
export class Arrivals {
  private readonly timer: NodeJS.Timeout;
  /** When the loop was seen running last. */
  private aliveNs: number;
  /** Since when the loop was busy, while what waited for it is read; otherwise infinity. */
  private busySinceNs = Number.POSITIVE_INFINITY;

  /** Called when the loop was busy for longer than it should be, before anything else is read. */
  onBusy: () => void = () => {};

  constructor(private readonly nowNs: () => number) {
    this.aliveNs = nowNs();
    this.timer = setInterval(() => this.look(), LOOK_NS / NS_PER_MS);
    this.timer.unref();
  }

  /** Call it when the first of a request is read, or `agoNs` later. */
  stampNs(agoNs = 0): number {
    const nowNs = this.nowNs();
    const sinceNs = Math.min(this.busySinceNs, this.aliveNs + LOOK_NS);
    return Math.min(nowNs - agoNs, nowNs - sinceNs > LOOK_NS ? sinceNs : nowNs);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const nowNs = this.nowNs();
    const dueNs = this.aliveNs + LOOK_NS;
    this.aliveNs = nowNs;
    if (nowNs - dueNs <= LOOK_NS) return;
    this.busySinceNs = Math.min(this.busySinceNs, dueNs);
    this.onBusy();
    // Timers come first in a turn of the loop. In this turn it reads what waited, in the next one what waited on
    // connections that were not accepted yet.
    setImmediate(() =>
      setImmediate(() => {
        this.busySinceNs = Number.POSITIVE_INFINITY;
      }),
    );
  }
}

/** Delays of the loop up to this are not looked at; it costs 200 wake-ups a second. */
const LOOK_NS = 5 * NS_PER_MS;
