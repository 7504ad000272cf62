import { NS_PER_MS } from '../base/units.js';

/**
 * Delays between attempts: each twice the previous one, up to a maximum. Resets after twice the maximum without an
 * attempt.
 */
export class Backoff {
  private nextMs: number;
  private lastNs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly firstMs: number,
    private readonly longestMs: number,
  ) {
    this.nextMs = firstMs;
  }

  /** Delay after a failed attempt, ms. */
  delayMs(nowNs: number): number {
    if (nowNs - this.lastNs > 2 * this.longestMs * NS_PER_MS) this.nextMs = this.firstMs;
    this.lastNs = nowNs;
    const delayMs = this.nextMs;
    this.nextMs = Math.min(this.longestMs, 2 * delayMs);
    return delayMs;
  }
}
