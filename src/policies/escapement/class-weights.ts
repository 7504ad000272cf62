import type { RequestClass } from '../../core/classes.js';
import { ABOVE_SHARE_WEIGHT } from './shared-classes.js';

/** Factor by which requests of a class that is owed its guaranteed share outweigh the heaviest of others. */
const FIRST = Math.exp(5);
/** Maximum debt to a class for the time its requests waited, ns of GPU time. */
const MOST_OWED_NS = 100e6;

/**
 * Current weights of requests by class, and guaranteed shares of GPU time. A class is credited its share of every INFER
 * sent while its requests wait or are in it, and debited its part of the INFER, which the requests of a batch share
 * evenly. While its balance is positive, its requests go first. So while some of its requests wait that can be in time,
 * it gets at least its share of INFER time. It never owes more than its part of the last INFER: use of idle capacity
 * beyond its share does not count against it.
 */
export class ClassWeights {
  /** By class; 1 if there is only one. */
  readonly weight: Float64Array;
  readonly logWeight: Float64Array;
  /** By class: 1 if its requests may go first, whatever the others' weights. */
  readonly isGuaranteed: Uint8Array;
  private readonly owedNs: Float64Array;
  private readonly plain: Float64Array;
  private readonly hasGuarantees: boolean;
  private readonly firstWeight: number;

  constructor(
    private readonly classes: readonly RequestClass[],
    /** Number of classes, the first ones, whose requests are within their tenants' shares of several. */
    private readonly withinShares = 0,
  ) {
    const isOne = classes.length === 1;
    this.plain = Float64Array.from(classes, ({ weight }) => (isOne ? 1 : weight));
    this.weight = this.plain.slice();
    this.logWeight = this.weight.map(Math.log);
    this.owedNs = new Float64Array(classes.length);
    this.isGuaranteed = Uint8Array.from(classes, ({ share }) => (share > 0 ? 1 : 0));
    this.hasGuarantees = !isOne && classes.some(({ share }) => share > 0);
    this.firstWeight = FIRST * Math.max(...this.plain);
  }

  get count(): number {
    return this.classes.length;
  }

  /** Declared weight of the class, regardless of its balance. */
  declared(requestClass: number): number {
    return this.plain[requestClass];
  }

  /**
   * Logarithm of the worth of a request of a class that takes `relative` times as long as the shortest of its model.
   * Shares are of GPU time, so one within a share is worth enough that no batch of shorter ones above it is denser.
   */
  logWorth(requestClass: number, relative: number): number {
    const logWeight = this.logWeight[requestClass];
    if (requestClass >= this.withinShares) return logWeight;
    return logWeight + Math.max(0, Math.log(ABOVE_SHARE_WEIGHT * relative));
  }

  /** Accounts for an INFER with this many requests of each class; `waits`: by class, number still waiting. */
  sent(durationNs: number, inBatch: Int32Array, waits: Int32Array): void {
    if (!this.hasGuarantees) return;
    const { classes, owedNs } = this;
    let all = 0;
    for (let c = 0; c < classes.length; c++) all += inBatch[c];
    for (let c = 0; c < classes.length; c++) {
      const { share } = classes[c];
      if (share === 0 || inBatch[c] + waits[c] === 0) continue;
      const partNs = (durationNs * inBatch[c]) / all;
      const owed = owedNs[c] + share * durationNs - partNs;
      const leastNs = partNs > 0 ? -partNs : owed;
      owedNs[c] = Math.min(MOST_OWED_NS, Math.max(owed, leastNs));
      this.weigh(c);
    }
  }

  private weigh(c: number): void {
    this.weight[c] = this.owedNs[c] > 0 ? this.firstWeight : this.plain[c];
    this.logWeight[c] = Math.log(this.weight[c]);
  }
}
