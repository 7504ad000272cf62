import { NS_PER_S } from '../../core/units.js';

const SLOW_NS = 20 * NS_PER_S;
const FAST_NS = NS_PER_S;

/** How often each model will be asked for: its recent rate, over a long and a short time. */
export class DemandForecast {
  private readonly slow: Float64Array;
  private readonly fast: Float64Array;
  private readonly lastNs: Float64Array;

  constructor(models: number) {
    this.slow = new Float64Array(models);
    this.fast = new Float64Array(models);
    this.lastNs = new Float64Array(models);
  }

  arrived(model: number, nowNs: number): void {
    const passed = nowNs - this.lastNs[model];
    this.slow[model] = this.slow[model] * Math.exp(-passed / SLOW_NS) + NS_PER_S / SLOW_NS;
    this.fast[model] = this.fast[model] * Math.exp(-passed / FAST_NS) + NS_PER_S / FAST_NS;
    this.lastNs[model] = nowNs;
  }

  /** Requests per second that are to be expected. */
  ratePerS(model: number, nowNs: number): number {
    if (this.slow[model] === 0) return 0;
    const passed = nowNs - this.lastNs[model];
    // What has been seen is all there was: early on, of a shorter time.
    const seen = 1 - Math.exp(-Math.max(nowNs, FAST_NS) / SLOW_NS);
    const slow = (this.slow[model] * Math.exp(-passed / SLOW_NS)) / seen;
    const fast = this.fast[model] * Math.exp(-passed / FAST_NS);
    return Math.max(slow, fast / 2);
  }
}
