import type { RequestClass } from '../../core/classes.js';

/** Requests of a class that lacks its guaranteed share weigh this many times as much as the heaviest of others: e^5. */
const FIRST = Math.exp(5);
/** Most that a class is owed for the time in which its requests waited, ns of GPU time. */
const MOST_OWED_NS = 100e6;

/**
 * What requests weigh now, by class, and the guaranteed shares of GPU time. A class is owed its share of every INFER
 * that is sent while its requests wait or are in it, and pays with its part of the INFER, which the requests of a batch
 * share evenly. While it is owed anything, its requests go first. So as long as some wait that can be in time, it gets
 * at least its share of the time of INFERs. It never owes more than its part of the last INFER: what it got
 * beyond its share, while others left room, is not held against it.
 */
export class ClassWeights {
  /** By class; all 1 where there is a single one. */
  readonly weight: Float64Array;
  readonly logWeight: Float64Array;
  /** By class, 1: its requests may go first, whatever the others weigh. */
  readonly isGuaranteed: Uint8Array;
  private readonly owedNs: Float64Array;
  private readonly plain: Float64Array;
  private readonly hasGuarantees: boolean;
  private readonly firstWeight: number;

  constructor(private readonly classes: readonly RequestClass[]) {
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

  /** What the class says, whatever it is owed. */
  declared(requestClass: number): number {
    return this.plain[requestClass];
  }

  /** An INFER was sent with so many requests of each class; `waits`: by class, how many more wait. */
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
