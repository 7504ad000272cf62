import { NS_PER_MS } from '../../base/units.js';
import { type Action, STATUS_OK } from '../../core/action.js';
import type { Cluster } from '../../core/cluster.js';
import { TIMELINE_FUTURE_NS } from '../../core/timeline.js';
import { CompletedInfer, SelfTuning } from '../common/self-tuning.js';

/** Lower bound: with less, an idle lane would never be booked, since it counts as busy for `TIMELINE_FUTURE_NS`. */
const LEAST_NS = TIMELINE_FUTURE_NS + NS_PER_MS / 100;
/** Initial value, before any measurement. */
const START_NS = 2 * NS_PER_MS;
/** Default for how long after its expected start an action may still start. */
export const AUTO_LATEST_DELTA_NS = 10 * NS_PER_MS;

/**
 * `scheduleAhead: auto`: the published scheduler with measured instead of fixed constants. Lanes are booked as far
 * ahead as measurements require, and requests are planned for their SLO less the measured margin instead of 5 ms. An
 * action holds both plan and outcome.
 */
export class AutoAhead {
  private readonly tuning = new SelfTuning(LEAST_NS, START_NS);
  /** By GPU: measured and expected end of its last INFER. */
  private readonly endNs: Float64Array;
  private readonly expectedEndNs: Float64Array;
  private readonly completed = new CompletedInfer();

  constructor(cluster: Cluster) {
    this.endNs = new Float64Array(cluster.gpus);
    this.expectedEndNs = new Float64Array(cluster.gpus);
  }

  get aheadNs(): number {
    return this.tuning.tuned.scheduleAheadNs;
  }

  get tuned(): Readonly<Record<string, number>> {
    return this.tuning.tuned;
  }

  /** Records a new request that takes `execNs`. */
  offered(sloNs: number, execNs: number, nowNs: number): void {
    this.tuning.offered(sloNs, execNs, nowNs);
  }

  /** Time from arrival to the internal deadline. */
  slackNs(sloNs: number): number {
    const { tuned, resultNs } = this.tuning;
    return Math.max(1, Math.floor(sloNs - tuned.marginNs - resultNs));
  }

  /** Records a timeout; true if schedule_ahead is to be renewed. */
  timedOut(nowNs: number): boolean {
    return this.tuning.givenUp(nowNs);
  }

  /** Records the result of an INFER; true if schedule_ahead is to be renewed. */
  finished(action: Action, sloNs: number, nowNs: number): boolean {
    if (action.status !== STATUS_OK) return false;
    const { gpu } = action;
    const { completed, tuning } = this;
    const startNs = action.expectedEndNs - action.expectedDurationNs;
    completed.wasBusy = startNs > action.sentNs + TIMELINE_FUTURE_NS;
    completed.decidedNs = action.sentNs;
    completed.predictedFreeNs = completed.wasBusy ? startNs : this.expectedEndNs[gpu];
    completed.freeNs = this.endNs[gpu];
    completed.beginNs = action.beginNs;
    completed.endNs = action.endNs;
    completed.predictedAnswerNs = action.expectedEndNs + tuning.resultNs;
    completed.sloNs = sloNs;
    this.endNs[gpu] = action.endNs;
    this.expectedEndNs[gpu] = action.expectedEndNs;
    return tuning.measured(completed, nowNs);
  }
}
