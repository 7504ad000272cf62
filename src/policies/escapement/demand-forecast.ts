import { NS_PER_S } from '../../base/units.js';

const SLOW_NS = 20 * NS_PER_S;
const FAST_NS = NS_PER_S;
/** Approximate number of recent requests in the mean weight. */
const WEIGHED = 32;

/** Expected demand of each model: by its recent rate, over a long and a short time. */
export class DemandForecast {
  /** By model: mean weight of its requests. */
  readonly weight: Float64Array;
  private readonly slow: Float64Array;
  private readonly fast: Float64Array;
  /** By model: arrival of the last request. */
  readonly lastNs: Float64Array;
  /** By model: time it was added. */
  private readonly cameNs: Float64Array;

  constructor(models: number) {
    this.weight = new Float64Array(models).fill(1);
    this.slow = new Float64Array(models);
    this.fast = new Float64Array(models);
    this.lastNs = new Float64Array(models);
    this.cameNs = new Float64Array(models);
  }

  came(model: number, nowNs: number): void {
    this.cameNs[model] = nowNs;
  }

  forget(model: number): void {
    this.weight[model] = 1;
    this.slow[model] = 0;
    this.fast[model] = 0;
    this.lastNs[model] = 0;
  }

  arrived(model: number, nowNs: number, weight = 1): void {
    if (this.slow[model] === 0) this.weight[model] = weight;
    else this.weight[model] += (weight - this.weight[model]) / WEIGHED;
    const passed = nowNs - this.lastNs[model];
    this.slow[model] = this.slow[model] * Math.exp(-passed / SLOW_NS) + NS_PER_S / SLOW_NS;
    this.fast[model] = this.fast[model] * Math.exp(-passed / FAST_NS) + NS_PER_S / FAST_NS;
    this.lastNs[model] = nowNs;
  }

  /** Expected requests per second. */
  rateRps(model: number, nowNs: number): number {
    if (this.slow[model] === 0) return 0;
    const passed = nowNs - this.lastNs[model];
    // Early on, the mean covers less than its memory.
    const seen = 1 - Math.exp(-Math.max(nowNs - this.cameNs[model], FAST_NS) / SLOW_NS);
    const slow = (this.slow[model] * Math.exp(-passed / SLOW_NS)) / seen;
    const fast = this.fast[model] * Math.exp(-passed / FAST_NS);
    return Math.max(slow, fast / 2);
  }
}
