import { NS_PER_US } from '../../core/units.js';
import { SampleWindow } from './sample-window.js';

/** Measurements that are looked at. */
const WINDOW = 300;
/** The law is applied anew after so many of them. */
const EVERY = 20;
/** Weight of a new measurement in running means. */
const NEW = 0.1;
/** A lane is booked this much longer than was needed. */
const GUARD_NS = 50 * NS_PER_US;
/** How often a lane may be left waiting, by how much a wait costs: bounds of a share of all INFERs. */
const LEAST_MISSES = 0.01;
const MOST_MISSES = 0.2;
const MISSES_PER_EXEC = 0.3;
/** What an answer that comes too late costs against what a margin as long as the objective would. */
const LATE_COST = 0.25;
const MARGIN_COST = 0.3;

/** One INFER as it was planned and as it went. */
export interface Measured {
  /** Other work was before it on its lane when it was decided. */
  wasBusy: boolean;
  decidedNs: number;
  /** When the lane should have been free, and when it was. */
  predictedFreeNs: number;
  freeNs: number;
  beginNs: number;
  endNs: number;
  predictedAnswerNs: number;
  /** Objective of its first request. */
  sloNs: number;
}

/**
 * Finds schedule_ahead and the margin before deadlines from what plans missed by. For an INFER that was decided
 * while its lane was busy, `need` = time until it got there + (predicted − actual time at which the lane was free):
 * booked that far ahead, it would have been there in time. schedule_ahead is a high quantile of recent needs; which
 * one follows from what a wait costs relative to the objective. The margin balances answers that come too late
 * against objectives cut short. Both are functions of a window of measurements, without a state of their own that
 * could swing, so they settle as soon as the window has.
 */
export class SelfTuning {
  aheadNs = 0;
  marginNs = 0;
  /** Mean time that an action needs to its lane, and a result back. */
  deliveryNs = 0;
  resultNs = 0;
  private readonly needs = new SampleWindow(WINDOW);
  private readonly errors = new SampleWindow(WINDOW);
  private untilRenewal = 1;
  /** What actions take longer than results: clocks that are off, or an executor's overhead. */
  private skewNs = 0;
  private sloNs = 0;
  private execNs = 0;
  private seen = 0;

  constructor(
    private readonly leastNs: number,
    /** Part of an objective that margins may take at most. */
    private readonly mostMargin: (sloNs: number) => number,
  ) {
    this.aheadNs = leastNs;
  }

  /** A result has come; true if what is tuned was renewed. */
  measured(infer: Measured, nowNs: number): boolean {
    const back = Math.max(0, nowNs - infer.endNs);
    const weight = this.seen === 0 ? 1 : NEW;
    this.seen++;
    this.resultNs += weight * (back - this.resultNs);
    this.sloNs += weight * (infer.sloNs - this.sloNs);
    this.execNs += weight * (infer.endNs - infer.beginNs - this.execNs);
    const there = infer.beginNs - infer.decidedNs;
    if (infer.wasBusy) {
      const delivered = Math.min(there, Math.max(0, back + this.skewNs));
      this.needs.add(delivered + infer.predictedFreeNs - infer.freeNs);
    } else this.skewNs += (this.skewNs === 0 ? 1 : NEW) * (there - back - this.skewNs);
    this.deliveryNs = Math.max(0, this.resultNs + this.skewNs);
    this.errors.add(nowNs - infer.predictedAnswerNs);
    if (--this.untilRenewal > 0) return false;
    this.untilRenewal = Math.min(EVERY, this.seen);
    this.renew();
    return true;
  }

  private renew(): void {
    const misses = Math.min(
      MOST_MISSES,
      Math.max(LEAST_MISSES, (MISSES_PER_EXEC * this.execNs) / this.sloNs),
    );
    const needNs = this.needs.quantile(1 - misses);
    const wanted = needNs > 0 ? needNs + GUARD_NS : 0;
    this.aheadNs = Math.max(this.leastNs, Math.min(this.sloNs / 2, wanted));
    this.marginNs = Math.max(0, Math.min(this.mostMargin(this.sloNs), this.cheapestMarginNs()));
  }

  private cheapestMarginNs(): number {
    const { errors, sloNs } = this;
    const { size } = errors;
    let best = 0;
    let leastCost = Number.POSITIVE_INFINITY;
    for (let rank = 0; rank < size; rank++) {
      const marginNs = Math.max(0, errors.rank(rank));
      const cost = (LATE_COST * (size - 1 - rank)) / size + (MARGIN_COST * marginNs) / sloNs;
      if (cost >= leastCost) continue;
      leastCost = cost;
      best = marginNs;
    }
    return best;
  }
}
