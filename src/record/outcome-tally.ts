import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
} from '../core/request.js';
import { ratioOf } from './counted.js';
import { Histogram } from './histogram.js';
import { latencyMs } from './latency.js';
import type { RequestCounts, TenantFigures } from './results.js';

const OUTCOMES = OUTCOME_NAMES.length;

/** Counts outcomes of requests by class or by tenant. */
export class OutcomeTally {
  /** Element `index * 5 + outcome`. */
  private readonly outcomes: Float64Array;
  private readonly okLatency: readonly Histogram[];
  private readonly executedLatency: readonly Histogram[];

  constructor(
    length: number,
    /** Counted time, seconds; 0 if there is no span. */
    private readonly seconds: number,
  ) {
    this.outcomes = new Float64Array(length * OUTCOMES);
    this.okLatency = Array.from({ length }, () => new Histogram());
    this.executedLatency = Array.from({ length }, () => new Histogram());
  }

  add(index: number, outcome: Outcome, latencyNs: number): void {
    this.outcomes[index * OUTCOMES + outcome]++;
    if (outcome === OUTCOME_OK) this.okLatency[index].record(latencyNs);
    if (outcome === OUTCOME_OK || outcome === OUTCOME_LATE) this.executedLatency[index].record(latencyNs);
  }

  figures(index: number): Omit<TenantFigures, 'name' | 'share' | 'gpuShare' | 'overRate' | 'overShare'> {
    const requests = this.countsOf(index);
    const executed = this.executedLatency[index];
    return {
      requests,
      offeredRps: ratioOf(requests.offered, this.seconds),
      goodputRps: ratioOf(requests.ok, this.seconds),
      attainment: ratioOf(requests.ok, requests.offered),
      offeredLatencyMs: latencyMs(this.okLatency[index], requests.offered),
      executedLatencyMs: latencyMs(executed, executed.count),
    };
  }

  private countsOf(index: number): RequestCounts {
    const of = (outcome: Outcome) => this.outcomes[index * OUTCOMES + outcome];
    const [ok, late, timeout] = [of(OUTCOME_OK), of(OUTCOME_LATE), of(OUTCOME_TIMEOUT)];
    const [rejected, error] = [of(OUTCOME_REJECTED), of(OUTCOME_ERROR)];
    return { offered: ok + late + timeout + rejected + error, ok, late, timeout, rejected, error };
  }
}
