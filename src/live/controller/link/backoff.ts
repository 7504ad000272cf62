import { NS_PER_MS } from '../../../base/units.js';

/**
 * Waiting times between tries: each twice the one before, up to the longest. Starts over when nothing had to be
 * tried for twice the longest.
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

  /** How long to wait now that a try has failed, ms. */
  delayMs(nowNs: number): number {
    if (nowNs - this.lastNs > 2 * this.longestMs * NS_PER_MS) this.nextMs = this.firstMs;
    this.lastNs = nowNs;
    const delayMs = this.nextMs;
    this.nextMs = Math.min(this.longestMs, 2 * delayMs);
    return delayMs;
  }
}
