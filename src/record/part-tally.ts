import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../core/request.js';
import { CAUSES, type FailureCounts } from './causes.js';
import { type Counted, ratioOf, spanSeconds } from './counted.js';
import { Histogram, merged } from './histogram.js';
import { latencyCdf, latencyMs } from './latency.js';
import type { LatencyCdf, RequestFigures } from './results.js';

const OUTCOMES = OUTCOME_NAMES.length;
/** Outcomes of offered requests: clients may also have withdrawn some. */
const OFFERED = [OUTCOME_OK, OUTCOME_LATE, OUTCOME_TIMEOUT, OUTCOME_REJECTED, OUTCOME_ERROR] as const;

/** Counts the requests of each part of a run by one dimension, such as each model or each tenant. */
export class PartTally {
  /** Requests by part, cold or not on arrival, and outcome: element `(part * 2 + cold) * OUTCOMES + outcome`. */
  readonly outcomes: Float64Array;
  /** Failed requests by part and cause: element `part * CAUSES.length + cause`. */
  readonly failures: Float64Array;
  /** Time of INFERs by part, ns; the requests of a batch share its time evenly. */
  readonly gpuNs: Float64Array;
  /** By part: answers in time that have an accuracy, and the sum of theirs. */
  readonly rated: Float64Array;
  readonly accuracy: Float64Array;
  /** Latencies by part, ns: of requests answered in time, and of late ones; null: none. */
  private readonly inTimeLatency: (Histogram | null)[];
  private readonly lateLatency: (Histogram | null)[];

  /** Empty histogram, for parts without latencies. */
  private readonly none: Histogram;

  /** `parts`: their number; `bits`: of the latency histograms, see `Histogram`. */
  constructor(
    readonly parts: number,
    private readonly bits?: number,
  ) {
    this.outcomes = new Float64Array(parts * 2 * OUTCOMES);
    this.failures = new Float64Array(parts * CAUSES.length);
    this.gpuNs = new Float64Array(parts);
    this.rated = new Float64Array(parts);
    this.accuracy = new Float64Array(parts);
    this.inTimeLatency = new Array<null>(parts).fill(null);
    this.lateLatency = new Array<null>(parts).fill(null);
    this.none = new Histogram(bits);
  }

  /**
   * Counts an answered request. `cause`: index into `CAUSES`; −1: answered in time, or not known. `accuracy`: of the
   * answer; 0: it has none.
   */
  add(part: number, outcome: Outcome, latencyNs: number, cause: number, isCold: boolean, accuracy = 0): void {
    this.outcomes[(part * 2 + (isCold ? 1 : 0)) * OUTCOMES + outcome]++;
    if (outcome === OUTCOME_OK) {
      this.histogram(this.inTimeLatency, part).record(latencyNs);
      if (accuracy > 0) {
        this.rated[part]++;
        this.accuracy[part] += accuracy;
      }
    } else if (outcome === OUTCOME_LATE) this.histogram(this.lateLatency, part).record(latencyNs);
    if (cause >= 0) this.failures[part * CAUSES.length + cause]++;
  }

  countOf(part: number, outcome: Outcome): number {
    return this.outcomes[part * 2 * OUTCOMES + outcome] + this.cold(part)[outcome];
  }

  /** Counts, rates and latencies of a part over a counted time. `seesScheduler`: false for what a client sees. */
  figures(part: number, counted: Counted, seesScheduler: boolean): RequestFigures {
    const seconds = spanSeconds(counted);
    const [ok, late, timeout, rejected, error] = OFFERED.map((outcome) => this.countOf(part, outcome));
    const offered = ok + late + timeout + rejected + error;
    const [executed, cold] = [this.executed(part), this.cold(part)];
    const [attainment, accuracy] = [ratioOf(ok, offered), ratioOf(this.accuracy[part], this.rated[part])];
    return {
      requests: { offered, ok, late, timeout, rejected, error },
      offeredRps: ratioOf(offered, seconds),
      goodputRps: ratioOf(ok, seconds),
      attainment,
      ...(accuracy !== null && { accuracy, accurateAttainment: attainment! * accuracy }),
      offeredLatencyMs: latencyMs(this.inTime(part), offered),
      executedLatencyMs: latencyMs(executed, executed.count),
      ...(seesScheduler && {
        coldStarts: cold.reduce((sum, one) => sum + one),
        coldInTime: cold[OUTCOME_OK],
        failures: this.failureCounts(part),
      }),
    };
  }

  /** Latency by percentile over all offered requests of a part. */
  curve(part: number, percentiles?: readonly number[]): LatencyCdf {
    const offered = OFFERED.reduce<number>((sum, outcome) => sum + this.countOf(part, outcome), 0);
    return latencyCdf(this.inTime(part), offered, percentiles);
  }

  /** Requests of a part that arrived while no GPU held their model, by outcome. */
  private cold(part: number): Float64Array {
    const from = (part * 2 + 1) * OUTCOMES;
    return this.outcomes.subarray(from, from + OUTCOMES);
  }

  /** Latencies of the requests of a part that were answered in time. */
  inTime(part: number): Histogram {
    return this.inTimeLatency[part] ?? this.none;
  }

  /** Latencies of the executed requests of a part: in time and late. */
  executed(part: number): Histogram {
    const late = this.lateLatency[part];
    return late === null ? this.inTime(part) : merged([this.inTimeLatency[part], late], this.bits);
  }

  /** All parts merged; this tally itself if it has one part. */
  total(): PartTally {
    if (this.parts === 1) return this;
    const all = new PartTally(1, this.bits);
    all.inTimeLatency[0] = merged(this.inTimeLatency, this.bits);
    all.lateLatency[0] = merged(this.lateLatency, this.bits);
    for (const [of, from] of [
      [all.outcomes, this.outcomes],
      [all.failures, this.failures],
      [all.gpuNs, this.gpuNs],
      [all.rated, this.rated],
      [all.accuracy, this.accuracy],
    ] as const)
      from.forEach((count, i) => {
        of[i % of.length] += count;
      });
    return all;
  }

  private failureCounts(part: number): FailureCounts {
    const counts = this.failures.subarray(part * CAUSES.length);
    return Object.fromEntries(CAUSES.map((cause, i) => [cause, counts[i]])) as unknown as FailureCounts;
  }

  private histogram(histograms: (Histogram | null)[], part: number): Histogram {
    let found = histograms[part];
    if (found === null) {
      found = new Histogram(this.bits);
      histograms[part] = found;
    }
    return found;
  }
}
