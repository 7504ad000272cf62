import type { Action } from '../core/action.js';
import type { RequestClass } from '../core/classes.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { type Counted, ratioOf, spanSeconds } from './counted.js';
import { GpuTime } from './gpu-time.js';
import { OutcomeTally } from './outcome-tally.js';
import type { ClassFigures, WeightedFigures } from './results.js';

interface ClassTallyOptions extends Counted {
  readonly classes: readonly RequestClass[];
  /** False if only answers are seen, as by a client. */
  readonly seesScheduler: boolean;
}

/** Counts outcomes of the requests of each class. */
export class ClassTally implements RunObserver {
  private readonly outcomes: OutcomeTally;
  private readonly gpuTime: GpuTime;

  constructor(private readonly options: ClassTallyOptions) {
    const { length } = options.classes;
    this.outcomes = new OutcomeTally(length, spanSeconds(options));
    this.gpuTime = new GpuTime(length, options);
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
    this.gpuTime.answered(index, action);
    const arrivalNs = requests.arrivalNs[slot];
    if (arrivalNs >= this.options.warmupNs) this.outcomes.add(index, outcome, nowNs - arrivalNs);
  }

  completed(): void {}

  /** Figures of all classes, in order of declaration, and weighted totals. */
  figures(): { readonly classes: readonly ClassFigures[] } & WeightedFigures {
    const gpuShares = this.gpuTime.shares();
    const { classes: declared, seesScheduler } = this.options;
    const classes = declared.map(({ name, weight, share }, index) => ({
      ...{ name, weight, share },
      ...this.outcomes.figures(index),
      gpuShare: seesScheduler ? gpuShares[index] : null,
    }));
    const seconds = spanSeconds(this.options);
    const offered = classes.reduce((sum, { weight, requests }) => sum + weight * requests.offered, 0);
    const ok = classes.reduce((sum, { weight, requests }) => sum + weight * requests.ok, 0);
    return {
      classes,
      weightedOfferedRps: ratioOf(offered, seconds),
      weightedGoodputRps: ratioOf(ok, seconds),
      weightedAttainment: ratioOf(ok, offered),
    };
  }
}
