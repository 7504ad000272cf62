import { NS_PER_S } from '../../base/units.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
} from '../../core/request.js';
import type { RowList } from '../../record/row-list.js';
import { REQUEST } from '../../record/run-rows.js';
import { LATENCY_BINS, latencyBinOf } from '../latency-bins.js';
import type { LaneFrame } from '../protocol.js';

/** Computes the figures of frames from answered requests. */
export class Statistics {
  private readonly byOutcome = new Float64Array(OUTCOME_NAMES.length);
  private readonly latency = new Uint32Array(LATENCY_BINS);
  /** Number of rows already counted. */
  private counted = 0;
  /** First row of the sliding second, and number of requests in time from it on. */
  private first = 0;
  private inTime = 0;
  /** Number of requests that are not of pipeline steps: answered ones, and those before the sliding second. */
  private own = 0;
  private ownBefore = 0;

  constructor(private readonly requests: RowList) {}

  /** `waiting`: number of unanswered requests. */
  at(
    nowNs: number,
    waiting: number,
  ): Pick<LaneFrame, 'waiting' | 'counts' | 'goodputRps' | 'attainment' | 'latency'> {
    this.count();
    this.slide(nowNs - NS_PER_S);
    const { byOutcome, inTime, own } = this;
    const answered = own - this.ownBefore;
    return {
      waiting,
      counts: {
        arrived: own + waiting,
        inTime: byOutcome[OUTCOME_OK],
        late: byOutcome[OUTCOME_LATE],
        refused: byOutcome[OUTCOME_REJECTED],
        timedOut: byOutcome[OUTCOME_TIMEOUT],
        failed: byOutcome[OUTCOME_ERROR],
      },
      // During the first second the window is shorter.
      goodputRps: nowNs > 0 ? inTime / (Math.min(nowNs, NS_PER_S) / NS_PER_S) : 0,
      attainment: answered === 0 ? null : inTime / answered,
      latency: this.latency.slice(),
    };
  }

  private count(): void {
    const { requests, byOutcome, latency } = this;
    for (; this.counted < requests.count; this.counted++) {
      if (requests.get(this.counted, REQUEST.parent) >= 0) continue;
      const outcome = requests.get(this.counted, REQUEST.outcome);
      this.own++;
      byOutcome[outcome]++;
      if (outcome === OUTCOME_OK) this.inTime++;
      if (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE) continue;
      const answeredNs = requests.get(this.counted, REQUEST.answeredNs);
      latency[latencyBinOf(answeredNs - requests.get(this.counted, REQUEST.arrivalNs))]++;
    }
  }

  private slide(fromNs: number): void {
    const { requests } = this;
    while (this.first < requests.count && requests.get(this.first, REQUEST.answeredNs) <= fromNs) {
      const row = this.first++;
      if (requests.get(row, REQUEST.parent) >= 0) continue;
      this.ownBefore++;
      if (requests.get(row, REQUEST.outcome) === OUTCOME_OK) this.inTime--;
    }
  }
}
