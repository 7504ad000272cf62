import { NS_PER_S } from '../../base/units.js';

const NEVER = Number.POSITIVE_INFINITY;

/** Arrivals of the last window, by model. A window begins with a request, so that idle time triggers nothing. */
export class Traffic {
  /** Requests per second and mean SLO in the last completed window. */
  readonly rateRps: Float64Array;
  readonly sloNs: Float64Array;
  /** End of the current window, Infinity if there is none. */
  endNs = NEVER;
  private beginNs = 0;
  private readonly arrivals: Float64Array;
  private readonly sloSumNs: Float64Array;

  constructor(
    models: number,
    private readonly windowNs: number,
    /** Length of the first window, which may be shorter. */
    private nextWindowNs: number,
  ) {
    this.rateRps = new Float64Array(models);
    this.sloNs = new Float64Array(models);
    this.arrivals = new Float64Array(models);
    this.sloSumNs = new Float64Array(models);
  }

  add(model: number, sloNs: number, nowNs: number): void {
    if (this.endNs === NEVER) {
      this.beginNs = nowNs;
      this.endNs = nowNs + this.nextWindowNs;
      this.nextWindowNs = this.windowNs;
    }
    this.arrivals[model]++;
    this.sloSumNs[model] += sloNs;
  }

  /** Clears the counts of a model that leaves. */
  forget(model: number): void {
    this.rateRps[model] = 0;
    this.sloNs[model] = 0;
    this.arrivals[model] = 0;
    this.sloSumNs[model] = 0;
  }

  /** Ends the window; the next request begins another. */
  close(nowNs: number): void {
    const seconds = (nowNs - this.beginNs) / NS_PER_S;
    for (let model = 0; model < this.arrivals.length; model++) {
      const arrivals = this.arrivals[model];
      this.rateRps[model] = arrivals / seconds;
      this.sloNs[model] = arrivals > 0 ? this.sloSumNs[model] / arrivals : 0;
    }
    this.arrivals.fill(0);
    this.sloSumNs.fill(0);
    this.endNs = NEVER;
  }
}
