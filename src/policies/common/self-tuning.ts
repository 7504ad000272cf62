import { NS_PER_S, NS_PER_US } from '../../base/units.js';

/** Measurements that are looked at. */
const WINDOW = 300;
/** The values are tuned again after this many of them. */
const EVERY = 20;
/** Weight of a new measurement in running means. */
const NEW = 0.1;
/** A lane is booked this much longer than was needed. */
const GUARD_NS = 50 * NS_PER_US;
/** What was measured longer ago than this does not keep anything from being tried. */
const DOUBT_NS = NS_PER_S;
/** What is tuned stays as it is unless that costs more than this, of one INFER or answer: costs are flat near the least. */
const WORTH_A_CHANGE = 0.005;
/** What deciding earlier by an SLO's length costs, where leaving a lane idle for one INFER costs 1. */
const EARLY_COST = 0.3;
/** Values that are weighed against each other: this many quantiles of what was needed. */
const CHOICES = 24;
/** What an answer that comes too late costs against what a margin as long as the SLO would. */
const LATE_COST = 0.25;
const MARGIN_COST = 0.3;
/** Part of what an SLO leaves after one INFER that the margin may take: with more, nothing would fit any more. */
const MOST_MARGIN = 0.6;

/** One INFER as it was planned and as it went. */
export class CompletedInfer {
  /** Other work was before it on its lane when it was decided. */
  wasBusy = false;
  decidedNs = 0;
  /**
   * When its lane should have been free, as was foreseen when it was decided, or for one that came to an idle lane when
   * the one before was; and when the lane was free. 0 for the first on a lane.
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
 * Finds schedule_ahead and the margin before deadlines from what plans missed by. For each INFER,
 * `need` = time until it got there + (predicted − actual time at which the lane was free): booked that far ahead, it
 * would have been there in time. A lane that is booked less far ahead idles for the difference, though never for longer
 * than a round trip, because then the result itself tells that it is free; one that is booked further ahead is given
 * work that was chosen earlier than necessary. schedule_ahead is where the sum of both costs is least over recent
 * needs. The margin balances answers that come too late against SLOs cut short. Both follow from a window of
 * measurements, and stay as they are where costs are flat, so they have settled as soon as the window has. The shortest
 * SLO of late limits both: work with long SLOs must not book lanes, and refuse what is late, until nothing else fits.
 */
export class SelfTuning {
  readonly tuned = { scheduleAheadNs: 0, marginNs: 0 };
  /** Mean time that an action needs to its lane, and a result back. */
  deliveryNs = 0;
  resultNs = 0;
  private readonly needs = new SampleWindow(WINDOW);
  private readonly errors = new SampleWindow(WINDOW);
  private untilRenewal = 1;
  /** What actions take longer than results: clocks that are off, or an executor's overhead. */
  private skewNs = 0;
  /** Mean of the INFERs measured. */
  private sloNs = 0;
  private readonly shortestSlo = new ShortestSlo();
  private execNs = 0;
  private seen = 0;
  private lastNs = 0;

  constructor(
    /** schedule_ahead is never less. */
    private readonly leastNs: number,
    /** schedule_ahead before anything was measured. */
    private readonly startNs: number,
    /** False: it stays as it is. */
    private readonly tunesAhead = true,
  ) {
    this.tuned.scheduleAheadNs = Math.max(leastNs, startNs);
  }

  /** A request has come that takes `execNs`. What could not be served within its SLO on an idle lane is no matter of tuning. */
  offered(sloNs: number, execNs: number, nowNs: number): void {
    if (sloNs > execNs + this.deliveryNs + this.resultNs) this.shortestSlo.offered(sloNs, nowNs);
  }

  /** A result has come; true if what is tuned was renewed. */
  measured(infer: CompletedInfer, nowNs: number): boolean {
    const back = Math.max(0, nowNs - infer.endNs);
    const weight = this.seen === 0 ? 1 : NEW;
    this.seen++;
    this.lastNs = nowNs;
    this.resultNs += weight * (back - this.resultNs);
    this.sloNs += weight * (infer.sloNs - this.sloNs);
    this.execNs += weight * (infer.endNs - infer.beginNs - this.execNs);
    const there = infer.beginNs - infer.decidedNs;
    if (!infer.wasBusy) this.skewNs += (this.skewNs === 0 ? 1 : NEW) * (there - back - this.skewNs);
    const delivered = infer.wasBusy ? Math.min(there, Math.max(0, back + this.skewNs)) : there;
    if (infer.freeNs > 0) this.needs.add(delivered + infer.predictedFreeNs - infer.freeNs);
    this.deliveryNs = Math.max(0, this.resultNs + this.skewNs);
    this.errors.add(nowNs - infer.predictedAnswerNs);
    if (--this.untilRenewal > 0) return false;
    this.untilRenewal = Math.min(EVERY, this.seen);
    this.renew();
    return true;
  }

  /**
   * A request had to be given up. Where nothing was measured for a while, that may be for no other reason than what was
   * measured before: all that is forgotten, so that the next is tried. True if so.
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
   * What an SLO leaves after an INFER. Where all have much the same, the margin is given up again for what would not be
   * served otherwise. Next to patient requests there is always something that would: the margin must fit into what is left
   * of the shortest SLO when its request has waited for a booked lane.
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

/** The cheapest of 0 and the positive quantiles of `samples`, where a value costs at least `perNs` times itself. */
function cheapest(samples: SampleWindow, perNs: number, cost: (ns: number) => number): number {
  let best = 0;
  let leastCost = cost(0);
  for (let choice = 1; choice <= CHOICES; choice++) {
    const ns = samples.quantile(choice / CHOICES);
    if (ns <= 0) continue;
    // All that follow are longer still.
    if (perNs * ns >= leastCost) break;
    const own = cost(ns);
    if (own >= leastCost) continue;
    leastCost = own;
    best = ns;
  }
  return best;
}

/** The last measurements of one thing, and quantiles of them. */
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

  /** How many there are. */
  get size(): number {
    return this.count;
  }

  /** Adds a measurement; the oldest falls out of a full window. */
  add(value: number): void {
    this.samples[this.next] = value;
    this.next = this.next + 1 === this.samples.length ? 0 : this.next + 1;
    if (this.count < this.samples.length) this.count++;
    this.isSorted = false;
  }

  /** Forgets all of them. */
  clear(): void {
    this.next = 0;
    this.count = 0;
  }

  /** The value that `share` (0 to 1) of the measurements do not exceed; 0 while there are none. */
  quantile(share: number): number {
    if (this.count === 0) return 0;
    return this.rank(Math.min(this.count - 1, Math.ceil(share * this.count) - 1));
  }

  /** The measurement with `rank` smaller ones before it, 0 to `size` − 1. */
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

/** What came longer ago than one to two of these counts no more. */
const PERIOD_NS = 10 * NS_PER_S;

/** The shortest SLO of the requests of late. */
class ShortestSlo {
  private presentNs = Number.POSITIVE_INFINITY;
  private beforeNs = Number.POSITIVE_INFINITY;
  private periodNs = 0;

  /** Infinity: no request has come for a while. */
  get ns(): number {
    return Math.min(this.presentNs, this.beforeNs);
  }

  offered(sloNs: number, nowNs: number): void {
    const passedNs = nowNs - this.periodNs;
    if (passedNs >= PERIOD_NS) {
      this.beforeNs = passedNs < 2 * PERIOD_NS ? this.presentNs : Number.POSITIVE_INFINITY;
      this.presentNs = sloNs;
      this.periodNs = nowNs;
    } else if (sloNs < this.presentNs) this.presentNs = sloNs;
  }
}
