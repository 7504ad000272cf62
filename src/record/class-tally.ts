import { NS_PER_S } from '../base/units.js';
import { type Action, INFER } from '../core/action.js';
import type { RequestClass } from '../core/classes.js';
import type { RunObserver } from '../core/observer.js';
import {
  OUTCOME_ERROR,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  OUTCOME_TIMEOUT,
  type Outcome,
  type RequestTable,
} from '../core/request.js';
import { Histogram } from './histogram.js';
import { latencyMs } from './latency.js';
import type { ClassFigures, RequestCounts, WeightedFigures } from './results.js';

const OUTCOMES = OUTCOME_NAMES.length;

interface ClassTallyOptions {
  readonly classes: readonly RequestClass[];
  /** What is counted begins at the end of the warm-up and ends at the nominal end of the workload, ns. */
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** Counts what became of the requests of each class. */
export class ClassTally implements RunObserver {
  /** Answers by class and outcome: element `class * 5 + outcome`. */
  private readonly outcomes: Float64Array;
  /** By class: its part of the time of INFERs, which requests share evenly. */
  private readonly gpuNs: Float64Array;
  private readonly okLatency: readonly Histogram[];
  private readonly executedLatency: readonly Histogram[];

  constructor(private readonly options: ClassTallyOptions) {
    const { classes } = options;
    this.outcomes = new Float64Array(classes.length * OUTCOMES);
    this.gpuNs = new Float64Array(classes.length);
    this.okLatency = classes.map(() => new Histogram());
    this.executedLatency = classes.map(() => new Histogram());
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    const index = requests.requestClass[slot];
    if (action !== null && action.kind === INFER) this.gpuNs[index] += this.countedNs(action) / action.count;
    const arrivalNs = requests.arrivalNs[slot];
    if (arrivalNs < this.options.warmupNs) return;
    this.outcomes[index * OUTCOMES + outcome]++;
    if (outcome === OUTCOME_OK) this.okLatency[index].record(nowNs - arrivalNs);
    if (outcome === OUTCOME_OK || outcome === OUTCOME_LATE)
      this.executedLatency[index].record(nowNs - arrivalNs);
  }

  completed(): void {}

  /** All classes, in the order of their declaration, and what was reached by weight. */
  figures(): { readonly classes: readonly ClassFigures[] } & WeightedFigures {
    const { classes, warmupNs, durationNs } = this.options;
    const seconds = (durationNs - warmupNs) / NS_PER_S;
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + ns, 0);
    let offered = 0;
    let ok = 0;
    const figures = classes.map(({ name, weight, share }, index) => {
      const requests = this.countsOf(index);
      offered += weight * requests.offered;
      ok += weight * requests.ok;
      const executed = this.executedLatency[index];
      return {
        ...{ name, weight, share, requests },
        offeredRps: requests.offered / seconds,
        goodputRps: requests.ok / seconds,
        attainment: requests.offered === 0 ? 0 : requests.ok / requests.offered,
        gpuShare: totalNs === 0 ? 0 : this.gpuNs[index] / totalNs,
        offeredLatencyMs: latencyMs(this.okLatency[index], requests.offered),
        executedLatencyMs: latencyMs(executed, executed.count),
      };
    });
    return {
      classes: figures,
      weightedOfferedRps: offered / seconds,
      weightedGoodputRps: ok / seconds,
      weightedAttainment: offered === 0 ? 0 : ok / offered,
    };
  }

  private countedNs({ beginNs, endNs }: Action): number {
    const { warmupNs, durationNs } = this.options;
    return Math.max(0, Math.min(endNs, durationNs) - Math.max(beginNs, warmupNs));
  }

  private countsOf(index: number): RequestCounts {
    const of = (outcome: Outcome) => this.outcomes[index * OUTCOMES + outcome];
    const [ok, late, timeout] = [of(OUTCOME_OK), of(OUTCOME_LATE), of(OUTCOME_TIMEOUT)];
    const [rejected, error] = [of(OUTCOME_REJECTED), of(OUTCOME_ERROR)];
    return { offered: ok + late + timeout + rejected + error, ok, late, timeout, rejected, error };
  }
}
