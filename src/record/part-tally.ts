import type { Outcome } from '../core/request.js';
import { OUTCOME_LATE, OUTCOME_NAMES, OUTCOME_OK } from '../core/request.js';
import { CAUSES } from './causes.js';
import { Histogram } from './histogram.js';

const OUTCOMES = OUTCOME_NAMES.length;

/** Counts the requests of each part of a run by one dimension, such as each model or each tenant. */
export class PartTally {
  /** Requests by part and outcome: element `part * 5 + outcome`. */
  readonly outcomes: Float64Array;
  /** Failed requests by part and cause: element `part * CAUSES.length + cause`. */
  readonly failures: Float64Array;
  /** Requests that arrived while no GPU held their model, by part. */
  readonly cold: Float64Array;
  /** Time of INFERs by part, ns; the requests of a batch share its time evenly. */
  readonly gpuNs: Float64Array;
  /** Time from arrival to answer, ns, by part: of requests answered in time, and of late ones. */
  readonly inTime: readonly Histogram[];
  private readonly late: (Histogram | null)[];

  /** `parts`: their number; `bits`: of the latency histograms, see `Histogram`. */
  constructor(
    readonly parts: number,
    private readonly bits?: number,
  ) {
    this.outcomes = new Float64Array(parts * OUTCOMES);
    this.failures = new Float64Array(parts * CAUSES.length);
    this.cold = new Float64Array(parts);
    this.gpuNs = new Float64Array(parts);
    this.inTime = Array.from({ length: parts }, () => new Histogram(bits));
    this.late = new Array<null>(parts).fill(null);
  }

  /** Counts an answered request. `cause`: index into `CAUSES`; −1: answered in time, or not known. */
  add(part: number, outcome: Outcome, latencyNs: number, cause: number, isCold: boolean): void {
    this.outcomes[part * OUTCOMES + outcome]++;
    if (outcome === OUTCOME_OK) this.inTime[part].record(latencyNs);
    else if (outcome === OUTCOME_LATE) this.lateOf(part).record(latencyNs);
    if (cause >= 0) this.failures[part * CAUSES.length + cause]++;
    if (isCold) this.cold[part]++;
  }

  /** Most parts have no late requests, so their histogram waits for the first. */
  private lateOf(part: number): Histogram {
    this.late[part] ??= new Histogram(this.bits);
    return this.late[part];
  }

  countOf(part: number, outcome: Outcome): number {
    return this.outcomes[part * OUTCOMES + outcome];
  }

  /** Latencies of the executed requests of a part: in time and late. */
  executed(part: number): Histogram {
    const late = this.late[part];
    if (late === null) return this.inTime[part];
    const all = new Histogram(this.bits);
    all.add(this.inTime[part]);
    all.add(late);
    return all;
  }

  /** All parts as one. */
  total(): PartTally {
    const all = new PartTally(1, this.bits);
    const late = new Histogram(this.bits);
    for (let part = 0; part < this.parts; part++) {
      all.inTime[0].add(this.inTime[part]);
      late.add(this.late[part] ?? new Histogram(this.bits));
      all.cold[0] += this.cold[part];
      all.gpuNs[0] += this.gpuNs[part];
    }
    all.late[0] = late;
    this.outcomes.forEach((count, i) => {
      all.outcomes[i % OUTCOMES] += count;
    });
    this.failures.forEach((count, i) => {
      all.failures[i % CAUSES.length] += count;
    });
    return all;
  }
}
