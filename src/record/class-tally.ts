import { type Action, INFER, STATUS_OK } from '../core/action.js';
import type { RequestClass } from '../core/classes.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { countedSeconds, OutcomeTally } from './outcome-tally.js';
import type { ClassFigures, WeightedFigures } from './results.js';

interface ClassTallyOptions {
  readonly classes: readonly RequestClass[];
  /** False: only answers are seen, as by a client. */
  readonly seesScheduler: boolean;
  /** What is counted begins at the end of the warm-up and ends at the nominal end of the workload, ns. */
  readonly warmupNs: number;
  readonly durationNs: number;
}

/** Counts what became of the requests of each class. */
export class ClassTally implements RunObserver {
  private readonly outcomes: OutcomeTally;
  /** By class: its part of the time of INFERs, which requests share evenly. */
  private readonly gpuNs: Float64Array;

  constructor(private readonly options: ClassTallyOptions) {
    const { length } = options.classes;
    this.outcomes = new OutcomeTally(length, countedSeconds(options));
    this.gpuNs = new Float64Array(length);
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
    if (action !== null && action.kind === INFER && action.status === STATUS_OK)
      this.gpuNs[index] += this.countedNs(action) / action.count;
    const arrivalNs = requests.arrivalNs[slot];
    if (arrivalNs >= this.options.warmupNs) this.outcomes.add(index, outcome, nowNs - arrivalNs);
  }

  completed(): void {}

  /** All classes, in the order of their declaration, and what was reached by weight. */
  figures(): { readonly classes: readonly ClassFigures[] } & WeightedFigures {
    const totalNs = this.gpuNs.reduce((sum, ns) => sum + ns, 0);
    const { classes: declared, seesScheduler } = this.options;
    const classes = declared.map(({ name, weight, share }, index) => ({
      ...{ name, weight, share },
      ...this.outcomes.figures(index),
      gpuShare: seesScheduler ? this.gpuNs[index] / Math.max(1, totalNs) : null,
    }));
    const offered = classes.reduce((sum, { weight, offeredRps }) => sum + weight * offeredRps, 0);
    const ok = classes.reduce((sum, { weight, goodputRps }) => sum + weight * goodputRps, 0);
    return {
      classes,
      weightedOfferedRps: offered,
      weightedGoodputRps: ok,
      weightedAttainment: offered === 0 ? 0 : ok / offered,
    };
  }

  private countedNs({ beginNs, endNs }: Action): number {
    const { warmupNs, durationNs } = this.options;
    return Math.max(0, Math.min(endNs, durationNs) - Math.max(beginNs, warmupNs));
  }
}
