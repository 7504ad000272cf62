import { NS_PER_S, NS_PER_US } from '../../base/units.js';

/** Number of measurements kept. */
const WINDOW = 300;
/** Number of measurements between updates. */
const EVERY = 20;
/** Weight of a new measurement in running means. */
const NEW = 0.1;
/** Guard time added to the measured need when booking a lane. */
const GUARD_NS = 50 * NS_PER_US;
/** Age from which measurements no longer rule out requests. */
const DOUBT_NS = NS_PER_S;
/**
 * Improvement of the cost per INFER or answer below which a tuned value stays, since costs are flat near the minimum.
 */
const WORTH_A_CHANGE = 0.005;
/** Cost of deciding one SLO earlier, relative to leaving a lane idle for one INFER. */
const EARLY_COST = 0.3;
/** Number of candidate values: quantiles of the measured needs. */
const CHOICES = 24;
/** Cost of a late answer, relative to a margin as long as the SLO. */
const LATE_COST = 0.25;
const MARGIN_COST = 0.3;
/** Largest share of the SLO left after one INFER that the margin may take; with more, nothing would fit. */
const MOST_MARGIN = 0.6;

/** Plan and outcome of one INFER. */
export class CompletedInfer {
  /** True if other work was ahead on its lane when it was decided. */
  wasBusy = false;
  decidedNs = 0;
  /**
   * Time at which its lane should have been free, as predicted when it was decided or, if the lane was idle, when its
   * predecessor was decided; and actual time. 0 for the first on a lane.
   */
  predictedFreeNs = 0;
  freeNs = 0;
  beginNs = 0;
  endNs = 0;
  predictedAnswerNs = 0;
  /** SLO of its first request. */
  sloNs = 0;
}

/**
 * Tunes schedule_ahead and the margin before deadlines from the errors of plans. For each INFER, `need` = delivery time
 * + (predicted − actual time at which the lane was free): booked that far ahead, it would have arrived in time. A lane
 * booked less far ahead idles for the difference, though never longer than a round trip, because then the result itself
 * shows that it is free; one booked further ahead gets work chosen earlier than necessary. schedule_ahead minimizes the
 * sum of both costs over recent needs. The margin balances late answers against shortened SLOs. Both follow from a
 * window of measurements, and stay put where costs are flat, so they settle as soon as the window is full. The shortest
 * recent SLO limits both: work with long SLOs must not book lanes so far ahead, or refuse requests so early, that
 * nothing else fits.
 */
export class SelfTuning {
  readonly tuned = { scheduleAheadNs: 0, marginNs: 0 };
  /** Mean time for an action to reach its lane, and for a result to return. */
  deliveryNs = 0;
  resultNs = 0;
  /** Shortest recent delivery times, which may occur again; 0 before the first. */
  leastDeliveryNs = 0;
  leastResultNs = 0;
  private readonly leastDelivery = new RecentLeast();
  private readonly leastResult = new RecentLeast();
  private readonly needs = new SampleWindow(WINDOW);
  private readonly errors = new SampleWindow(WINDOW);
  private untilRenewal = 1;
  /** Excess of action over result delivery: clock skew, or an executor's overhead. */
  private skewNs = 0;
  /** Mean SLO of the INFERs measured. */
  private sloNs = 0;
  private readonly shortestSlo = new RecentLeast();
  private execNs = 0;
  private seen = 0;
  private lastNs = 0;

  constructor(
    /** Lower bound of schedule_ahead. */
    private readonly leastNs: number,
    /** Initial schedule_ahead, before any measurement. */
    private readonly startNs: number,
    /** False if schedule_ahead is fixed. */
    private readonly tunesAhead = true,
  ) {
    this.tuned.scheduleAheadNs = Math.max(leastNs, startNs);
  }

  /** Records a request that takes `execNs`. Ignored if an idle lane could not serve it within its SLO. */
  offered(sloNs: number, execNs: number, nowNs: number): void {
    if (sloNs > execNs + this.deliveryNs + this.resultNs) this.shortestSlo.add(sloNs, nowNs);
  }

  /** Records a result; true if the tuned values were renewed. */
  measured(infer: CompletedInfer, nowNs: number): boolean {
    const back = Math.max(0, nowNs - infer.endNs);
    const weight = this.seen === 0 ? 1 : NEW;
    this.seen++;
    this.lastNs = nowNs;
    this.resultNs += weight * (back - this.resultNs);
    this.sloNs += weight * (infer.sloNs - this.sloNs);
    this.execNs += weight * (infer.endNs - infer.beginNs - this.execNs);
    const there = infer.beginNs - infer.decidedNs;
    this.leastResult.add(back, nowNs);
    this.leastDelivery.add(Math.max(0, there), nowNs);
    if (!infer.wasBusy) this.skewNs += (this.skewNs === 0 ? 1 : NEW) * (there - back - this.skewNs);
    const delivered = infer.wasBusy ? Math.min(there, Math.max(0, back + this.skewNs)) : there;
    if (infer.freeNs > 0) this.needs.add(delivered + infer.predictedFreeNs - infer.freeNs);
    this.deliveryNs = Math.max(0, this.resultNs + this.skewNs);
    this.leastDeliveryNs = Math.min(this.deliveryNs, this.leastDelivery.ns);
    this.leastResultNs = Math.min(this.resultNs, this.leastResult.ns);
    this.errors.add(nowNs - infer.predictedAnswerNs);
    if (--this.untilRenewal > 0) return false;
    this.untilRenewal = Math.min(EVERY, this.seen);
    this.renew();
    return true;
  }

  /**
   * Records that a request is given up. If nothing was measured recently, old measurements may be the only cause: then
   * forgets them all and returns true.
   */
  givenUp(nowNs: number): boolean {
    if (this.seen === 0 || nowNs - this.lastNs < DOUBT_NS) return false;
    this.needs.clear();
    this.errors.clear();
    this.seen = 0;
    this.untilRenewal = 1;
    this.skewNs = 0;
    this.deliveryNs = 0;
    this.resultNs = 0;
    this.leastDeliveryNs = 0;
    this.leastResultNs = 0;
    this.leastDelivery.clear();
    this.leastResult.clear();
    this.tuned.scheduleAheadNs = Math.max(this.leastNs, this.startNs);
    this.tuned.marginNs = 0;
    return true;
  }

  private renew(): void {
    if (this.tunesAhead) this.renewAhead();
    this.renewMargin();
  }

  private renewAhead(): void {
    const cost = (aheadNs: number) => this.aheadCost(aheadNs);
    const wanted = cheapest(this.needs, EARLY_COST / this.sloNs, cost);
    const mostNs = Math.max(this.leastNs, Math.min(this.sloNs, this.shortestSlo.ns) / 2);
    const aheadNs = Math.max(this.leastNs, Math.min(mostNs, wanted > 0 ? wanted + GUARD_NS : 0));
    const { tuned } = this;
    const saved = cost(tuned.scheduleAheadNs) - cost(aheadNs);
    if (saved > WORTH_A_CHANGE || tuned.scheduleAheadNs > mostNs) tuned.scheduleAheadNs = Math.round(aheadNs);
  }

  private renewMargin(): void {
    const cost = (marginNs: number) => this.marginCost(marginNs);
    const wanted = cheapest(this.errors, MARGIN_COST / this.sloNs, cost);
    const mostNs = Math.max(0, MOST_MARGIN * this.roomNs);
    const marginNs = Math.min(mostNs, wanted);
    const { tuned } = this;
    const saved = cost(tuned.marginNs) - cost(marginNs);
    if (saved > WORTH_A_CHANGE || tuned.marginNs > mostNs) tuned.marginNs = Math.round(marginNs);
  }

  /**
   * Time that an SLO leaves after an INFER. If all SLOs are similar, the margin is given up for requests that could not
   * be served otherwise. If some are much longer, there is always something else to serve, so the margin must fit into
   * what the shortest SLO leaves after waiting for a booked lane.
   */
  private get roomNs(): number {
    const { sloNs, execNs } = this;
    const { ns } = this.shortestSlo;
    if (ns >= sloNs) return sloNs - execNs;
    return ns - execNs - this.deliveryNs - this.resultNs - this.tuned.scheduleAheadNs;
  }

  private aheadCost(aheadNs: number): number {
    const { needs, execNs, sloNs } = this;
    if (needs.size === 0) return 0;
    const mostNs = this.resultNs + this.deliveryNs;
    let idleNs = 0;
    for (let rank = needs.size - 1; rank >= 0 && needs.rank(rank) > aheadNs; rank--) {
      idleNs += Math.min(mostNs, needs.rank(rank) - aheadNs);
    }
    return idleNs / needs.size / execNs + (EARLY_COST * aheadNs) / sloNs;
  }

  private marginCost(marginNs: number): number {
    const { errors } = this;
    if (errors.size === 0) return 0;
    let late = 0;
    while (late < errors.size && errors.rank(errors.size - 1 - late) > marginNs) late++;
    return (LATE_COST * late) / errors.size + (MARGIN_COST * marginNs) / this.sloNs;
  }
}

/** Cheapest of 0 and the positive quantiles of `samples`, if a value costs at least `perNs` times itself. */
function cheapest(samples: SampleWindow, perNs: number, cost: (ns: number) => number): number {
  let best = 0;
  let leastCost = cost(0);
  for (let choice = 1; choice <= CHOICES; choice++) {
    const ns = samples.quantile(choice / CHOICES);
    if (ns <= 0) continue;
    // All that follow are larger.
    if (perNs * ns >= leastCost) break;
    const own = cost(ns);
    if (own >= leastCost) continue;
    leastCost = own;
    best = ns;
  }
  return best;
}

/** Sliding window of measurements, with quantiles. */
export class SampleWindow {
  private readonly samples: Float64Array;
  private readonly sorted: Float64Array;
  private next = 0;
  private count = 0;
  private isSorted = false;

  constructor(capacity: number) {
    this.samples = new Float64Array(capacity);
    this.sorted = new Float64Array(capacity);
  }

  /** Number of measurements. */
  get size(): number {
    return this.count;
  }

  /** Adds a measurement, replacing the oldest in a full window. */
  add(value: number): void {
    const isFull = this.count === this.samples.length;
    // Equal measurements, which are common, keep their order.
    if (!isFull || this.samples[this.next] !== value) this.isSorted = false;
    this.samples[this.next] = value;
    this.next = this.next + 1 === this.samples.length ? 0 : this.next + 1;
    if (!isFull) this.count++;
  }

  /** Forgets all measurements. */
  clear(): void {
    this.next = 0;
    this.count = 0;
    this.isSorted = false;
  }

  /** Value that `share` (0 to 1) of the measurements do not exceed; 0 if there are none. */
  quantile(share: number): number {
    if (this.count === 0) return 0;
    return this.rank(Math.min(this.count - 1, Math.ceil(share * this.count) - 1));
  }

  /** Measurement with `rank` smaller ones before it, 0 to `size` − 1. */
  rank(rank: number): number {
    if (!this.isSorted) {
      const { sorted, samples, count } = this;
      for (let i = 0; i < count; i++) sorted[i] = samples[i];
      sorted.subarray(0, count).sort();
      this.isSorted = true;
    }
    return this.sorted[Math.max(0, rank)];
  }
}

/** Period of the minimum: values count for one to two of these. */
const PERIOD_NS = 10 * NS_PER_S;

/** Least of recent values. */
class RecentLeast {
  private presentNs = Number.POSITIVE_INFINITY;
  private beforeNs = Number.POSITIVE_INFINITY;
  private periodNs = 0;

  /** Infinity if there was none recently. */
  get ns(): number {
    return Math.min(this.presentNs, this.beforeNs);
  }

  add(valueNs: number, nowNs: number): void {
    const passedNs = nowNs - this.periodNs;
    if (passedNs >= PERIOD_NS) {
      this.beforeNs = passedNs < 2 * PERIOD_NS ? this.presentNs : Number.POSITIVE_INFINITY;
      this.presentNs = valueNs;
      this.periodNs = nowNs;
    } else if (valueNs < this.presentNs) this.presentNs = valueNs;
  }

  clear(): void {
    this.presentNs = Number.POSITIVE_INFINITY;
    this.beforeNs = Number.POSITIVE_INFINITY;
  }
}
