import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import type { RunObserver } from '../../core/observer.js';
import {
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../core/request.js';
import { Histogram } from '../../record/histogram.js';

/** Figures by trial. */
interface Trials {
  readonly throughputRps: number[];
  readonly p50Ms: number[];
  readonly p99Ms: number[];
}

/**
 * Cuts a run into consecutive trials of equal length, so that none begins on an idle server. Answers come in batches,
 * and a trial may end in the middle of one: each is counted from the first answer after its start to the first after
 * its end, over the time between these two.
 */
export class TrialWindows implements RunObserver {
  /** By outcome: answers within the trials. */
  readonly outcomes = new Array<number>(OUTCOME_NAMES.length).fill(0);
  private readonly latency: readonly Histogram[];
  /** By start of a trial, and the end of the last: the first answer from then on, and its number. */
  private readonly firstNs: Float64Array;
  private readonly firstNumber: Float64Array;
  private reached = 0;
  private served = 0;

  constructor(
    private readonly beginNs: number,
    private readonly lengthNs: number,
    private readonly trials: number,
  ) {
    this.latency = Array.from({ length: trials }, () => new Histogram());
    this.firstNs = new Float64Array(trials + 1);
    this.firstNumber = new Float64Array(trials + 1);
  }

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number): void {
    const trial = Math.floor((nowNs - this.beginNs) / this.lengthNs);
    const within = trial >= 0 && trial < this.trials;
    if (within) this.outcomes[outcome]++;
    if (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE) return;
    this.served++;
    while (this.reached <= Math.min(trial, this.trials)) {
      this.firstNs[this.reached] = nowNs;
      this.firstNumber[this.reached] = this.served;
      this.reached++;
    }
    if (within) this.latency[trial].record(nowNs - requests.arrivalNs[slot]);
  }

  completed(): void {
    // Clients see answers only.
  }

  /** Share of the answers within the trials without a result; 0 if nothing was answered. */
  get failedShare(): number {
    const all = this.outcomes.reduce((sum, count) => sum + count, 0);
    const served = this.outcomes[OUTCOME_OK] + this.outcomes[OUTCOME_LATE];
    return all === 0 ? 0 : 1 - served / all;
  }

  /** Null if a trial had no answer, so that its rate is not known. */
  results(): Trials | null {
    const results: Trials = { throughputRps: [], p50Ms: [], p99Ms: [] };
    for (let trial = 0; trial < this.trials; trial++) {
      const histogram = this.latency[trial];
      const tookNs = this.firstNs[trial + 1] - this.firstNs[trial];
      if (histogram.count === 0 || !(tookNs > 0)) return null;
      const requests = this.firstNumber[trial + 1] - this.firstNumber[trial];
      results.throughputRps.push((requests * NS_PER_S) / tookNs);
      results.p50Ms.push(histogram.percentile(50) / NS_PER_MS);
      results.p99Ms.push(histogram.percentile(99) / NS_PER_MS);
    }
    return results;
  }
}
