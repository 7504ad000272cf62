import { NS_PER_MS } from '../../base/units.js';

/** Pause that separates bursts. */
const PAUSE_NS = 100 * NS_PER_MS;
/** Relative difference below which two gaps are alike. */
const ALIKE = 0.1;
/** Number of similar gaps in a row needed to predict the next. */
const ENOUGH = 2;
/** Weight of a new burst in the mean size. */
const NEW = 0.3;

/** Bursts of requests at regular intervals, as timers send them, and the due time of the next. */
export class Periodicity {
  private readonly lastNs: Float64Array;
  private readonly burstNs: Float64Array;
  private readonly gapNs: Float64Array;
  private readonly alike: Uint8Array;
  private readonly size: Float64Array;
  private readonly seen: Float64Array;

  constructor(models: number) {
    this.lastNs = new Float64Array(models).fill(Number.NEGATIVE_INFINITY);
    this.burstNs = new Float64Array(models);
    this.gapNs = new Float64Array(models);
    this.alike = new Uint8Array(models);
    this.size = new Float64Array(models);
    this.seen = new Float64Array(models);
  }

  forget(model: number): void {
    this.lastNs[model] = Number.NEGATIVE_INFINITY;
    this.burstNs[model] = 0;
    this.gapNs[model] = 0;
    this.alike[model] = 0;
    this.size[model] = 0;
    this.seen[model] = 0;
  }

  arrived(model: number, nowNs: number): void {
    if (nowNs - this.lastNs[model] >= PAUSE_NS) this.began(model, nowNs);
    this.lastNs[model] = nowNs;
    this.seen[model]++;
  }

  /** Size of a burst that is due before `byNs`, or was due a moment ago; 0: none. */
  due(model: number, nowNs: number, byNs: number): number {
    if (this.alike[model] < ENOUGH) return 0;
    const nextNs = this.burstNs[model] + this.gapNs[model];
    return nextNs <= byNs && nowNs <= nextNs + ALIKE * this.gapNs[model] ? this.size[model] : 0;
  }

  private began(model: number, nowNs: number): void {
    const gapNs = nowNs - this.burstNs[model];
    const isAlike = Math.abs(gapNs - this.gapNs[model]) < ALIKE * this.gapNs[model];
    this.alike[model] = isAlike ? Math.min(ENOUGH, this.alike[model] + 1) : 0;
    this.size[model] += (this.size[model] === 0 ? 1 : NEW) * (this.seen[model] - this.size[model]);
    this.gapNs[model] = gapNs;
    this.burstNs[model] = nowNs;
    this.seen[model] = 0;
  }
}
