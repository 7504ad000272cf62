import { invariant } from '../base/invariant.js';
import { NS_PER_MS } from '../base/units.js';
import type { Action } from '../core/action.js';
import {
  ACTION_NAMES,
  INFER,
  LANE_EXEC,
  LANE_WEIGHTS,
  LOAD,
  STATUS_INFER_TOO_LATE,
  STATUS_LOAD_TOO_LATE,
  STATUS_OK,
} from '../core/action.js';
import type { RequestClass } from '../core/classes.js';
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import type { PipelineSpec } from '../core/pipelines.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { OUTCOME_OK } from '../core/request.js';
import type { Tenant } from '../core/tenants.js';
import { TimeBins } from './bins.js';
import { CauseFinder } from './causes.js';
import { countedNs } from './counted.js';
import { BY_STEP, type Dimension, dimensionsOf, type PartOf } from './dimensions.js';
import { PartTally } from './part-tally.js';
import type { TunedSeries } from './results.js';
import { TunedTally, type Tuning } from './tuned.js';
import { WindowTally } from './windows.js';

export interface RunTallyOptions {
  readonly gpus: number;
  /** Nominal end of the workload, ns since the start of the run; after `warmupNs`. */
  readonly durationNs: number;
  /** Requests that arrive and actions that are sent earlier are not counted. */
  readonly warmupNs: number;
  readonly models: readonly ModelSpec[];
  /** Pipelines, numbered after the models. */
  readonly pipelines?: readonly PipelineSpec[];
  /** Names of the workload's sections, at least one. */
  readonly sections: readonly string[];
  /** First user id of each section, ascending from 0: section i has users [starts[i], starts[i + 1]). */
  readonly sectionStarts: readonly number[];
  readonly classes?: readonly RequestClass[];
  readonly tenants?: readonly Tenant[];
  /** Named kinds of GPUs, which are numbered consecutively kind by kind. */
  readonly kinds?: readonly TalliedKind[];
  /** False if the observer, e.g. a client, sees only answers. Default: true. */
  readonly seesScheduler?: boolean;
}

/** One kind of GPUs. */
interface TalliedKind {
  readonly name: string;
  readonly gpus: number;
  readonly pricePerHour: number | null;
}

/** Latencies of a model are within 0.8 %, which keeps memory small for thousands of models. */
const MODEL_BITS = 6;

/** Requests of a run by one dimension. */
interface TalliedDimension {
  readonly dimension: Dimension;
  /** True if requests of pipeline steps count. */
  readonly hasSteps: boolean;
  readonly tally: PartTally;
  readonly partOf: PartOf;
}

/**
 * Counts everything for the summary, windows and groups of a run, in memory that depends neither on the length of the
 * run nor on its number of requests. A request is counted once, at its answer. A driver answers every request before it
 * ends, so offered is the sum of outcomes.
 *
 * Members are read after the run; `summary.ts` turns them into results.
 */
export class RunTally implements RunObserver {
  readonly gpus: number;
  readonly warmupNs: number;
  readonly durationNs: number;
  readonly sections: readonly string[];
  readonly kinds: readonly TalliedKind[];
  /** Null if the observer cannot see why requests failed. */
  readonly causes: CauseFinder | null;
  readonly dimensions: ReturnType<typeof dimensionsOf>;
  /** Requests by group and by model, which every run has. */
  private readonly groups: PartTally;
  private readonly byModel: PartTally;
  /** Requests by each other dimension that has parts; empty, and free, in a run without any. */
  private readonly others: readonly TalliedDimension[];
  /** SLO of each section's requests, ns; 0: none arrived, NaN: they differ. */
  private readonly slosNs: Float64Array;
  /** Requests withdrawn by their clients; these are not offered. */
  cancels = 0;

  readonly windows: WindowTally;
  /** Slices of the run. */
  readonly bins: TimeBins;
  /** By section and time of arrival: requests, and those answered within their SLO. */
  readonly offeredByBin: readonly Float64Array[];
  readonly okByArrival: readonly Float64Array[];

  /** Actions by kind, regardless of result. */
  readonly actions = new Float64Array(ACTION_NAMES.length);
  /** Actions that missed their window. */
  tooLate = 0;
  /** Successful INFERs by batch size. */
  readonly inferByBatch: Float64Array;
  /** Busy time between warm-up and nominal end, summed over the GPUs of a kind: element `kind * 2 + lane`. */
  readonly busyNs: Float64Array;
  /** Successful INFERs by kind of GPU. */
  readonly infersByKind: Float64Array;
  /** Kind of each GPU; 0 for all if kinds have no names. */
  private readonly kindOf: Uint8Array;

  /** By pipeline step: requests of its pipeline that failed there. */
  readonly failedHere: Float64Array;

  /** Action whose requests are being answered, and the share of each in its time, ns. */
  private sharedId = -1;
  private shareNs = 0;

  /** Values that the policy tunes. */
  private tuned: TunedTally | null = null;

  constructor(options: RunTallyOptions) {
    const { gpus, durationNs, warmupNs, models, sections, sectionStarts } = options;
    const { classes = [], tenants = [], pipelines = [], kinds = [] } = options;
    invariant(durationNs > warmupNs, 'a run ends after its warm-up');
    invariant(
      sections.length > 0 && sections.length === sectionStarts.length,
      'each section has its first user',
    );
    this.gpus = gpus;
    this.warmupNs = warmupNs;
    this.durationNs = durationNs;
    this.sections = sections;
    this.kinds = kinds;
    this.causes = options.seesScheduler === false ? null : new CauseFinder(models);
    this.slosNs = new Float64Array(sections.length);
    this.kindOf = new Uint8Array(gpus);
    this.kindOf.set(kinds.flatMap(({ gpus: ofKind }, kind) => new Array<number>(ofKind).fill(kind)));
    this.busyNs = new Float64Array(2 * Math.max(1, kinds.length));
    this.infersByKind = new Float64Array(Math.max(1, kinds.length));
    this.bins = new TimeBins(warmupNs, durationNs);
    this.offeredByBin = sections.map(() => this.bins.counter());
    this.okByArrival = sections.map(() => this.bins.counter());
    this.inferByBatch = new Float64Array(1 + largestBatch(models));
    this.windows = new WindowTally(this);
    this.dimensions = dimensionsOf({
      ...{ sections, sectionStarts: Float64Array.from(sectionStarts), classes, tenants, models },
      pipelines,
      ...{ kinds: kinds.map(({ name }) => name), kindOf: this.kindOf },
    });
    this.failedHere = new Float64Array(this.dimensions.step.parts.length);
    this.groups = new PartTally(sections.length);
    this.byModel = new PartTally(models.length, MODEL_BITS);
    this.others = (['class', 'tenant', 'length', 'pipeline', 'step', 'kind'] as const)
      .filter((dimension) => this.dimensions[dimension].parts.length > 0)
      .map((dimension) => {
        const { parts, partOf } = this.dimensions[dimension];
        return {
          dimension,
          hasSteps: BY_STEP.includes(dimension),
          partOf,
          tally: new PartTally(parts.length),
        };
      });
  }

  /** Counts of the parts of a dimension; null if the run does not have it. */
  by(dimension: Dimension): PartTally | null {
    if (dimension === 'group') return this.groups;
    if (dimension === 'model') return this.byModel;
    return this.others.find((each) => each.dimension === dimension)?.tally ?? null;
  }

  /** Counts of all requests. */
  total(): PartTally {
    return this.groups.total();
  }

  /** Starts following the tuned values, sampling at every result. */
  watch(tuning: Tuning): void {
    const tuned = new TunedTally(tuning, this.windows.bins);
    if (!tuned.isEmpty) this.tuned = tuned;
  }

  /** Empty if nothing is tuned. */
  get tunedSeries(): TunedSeries[] {
    return this.tuned?.series() ?? [];
  }

  /** Returns the SLO that all requests of a section had; null: they differ, or none came. */
  sloMsOf(section: number): number | null {
    const sloNs = this.slosNs[section];
    return sloNs > 0 ? sloNs / NS_PER_MS : null;
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    const arrivalNs = requests.arrivalNs[slot];
    const latencyNs = nowNs - arrivalNs;
    const step = requests.step[slot];
    const isStep = step > 0;
    if (!isStep) this.windows.answered(outcome, nowNs, latencyNs);
    const isCounted = arrivalNs >= this.warmupNs;
    if (isCounted && step < 0) this.failedHere[-step - 1]++;
    const isCold = requests.arrivalCopies[slot] === 0;
    let cause = -1;
    if (isCounted && outcome !== OUTCOME_OK && this.causes !== null)
      cause = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    const model = requests.model[slot];
    const accuracy = requests.accuracy[slot];
    const group = this.dimensions.group.partOf(requests, slot);
    if (action !== null && action.id !== this.sharedId) this.share(action);
    const gpuNs = action === null ? 0 : this.shareNs;
    this.groups.gpuNs[group] += gpuNs;
    if (isCounted && !isStep) {
      const bin = this.bins.indexOf(arrivalNs);
      this.offeredByBin[group][bin]++;
      if (outcome === OUTCOME_OK) this.okByArrival[group][bin]++;
      this.windows.offered[this.windows.bins.indexOf(arrivalNs)]++;
      const sloNs = requests.sloNs[slot];
      if (sloNs !== this.slosNs[group]) this.slosNs[group] = this.slosNs[group] === 0 ? sloNs : Number.NaN;
      this.groups.add(group, outcome, latencyNs, cause, isCold, accuracy);
    }
    if (model < this.byModel.parts) {
      this.byModel.gpuNs[model] += gpuNs;
      if (isCounted) this.byModel.add(model, outcome, latencyNs, cause, isCold, accuracy);
    }
    const gpu = action === null ? -1 : action.gpu;
    for (let i = 0; i < this.others.length; i++) {
      const { hasSteps, tally, partOf } = this.others[i];
      const part = partOf(requests, slot, gpu);
      if (part < 0) continue;
      tally.gpuNs[part] += gpuNs;
      if (isCounted && (hasSteps || !isStep)) tally.add(part, outcome, latencyNs, cause, isCold, accuracy);
    }
  }

  /** Divides the counted time of a batch evenly among its requests; there is none if no INFER executed it. */
  private share(action: Action): void {
    this.sharedId = action.id;
    this.shareNs =
      action.kind === INFER && action.status === STATUS_OK ? countedNs(this, action) / action.count : 0;
  }

  cancelled({ arrivalNs, step }: RequestTable, slot: number): void {
    if (arrivalNs[slot] >= this.warmupNs && step[slot] <= 0) this.cancels++;
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.tuned?.sample(nowNs);
    this.causes?.completed(action, nowNs, copies);
    const kind = action.kind;
    if (kind === INFER) this.addBusy(LANE_EXEC, action);
    else if (kind === LOAD) this.addBusy(LANE_WEIGHTS, action);
    if (action.sentNs < this.warmupNs) return;
    const status = action.status;
    this.actions[kind]++;
    if (kind === LOAD) this.windows.loads[this.windows.bins.indexOf(action.sentNs)]++;
    if (status === STATUS_OK) {
      if (kind === INFER) {
        this.inferByBatch[action.batchSize]++;
        this.infersByKind[this.kindOf[action.gpu]]++;
      }
    } else if (status === STATUS_INFER_TOO_LATE || status === STATUS_LOAD_TOO_LATE) {
      this.tooLate++;
    }
  }

  /** Adds the time of an action to its lane, even if it failed; an action that never started has length 0. */
  private addBusy(lane: number, action: Action): void {
    this.busyNs[this.kindOf[action.gpu] * 2 + lane] += countedNs(this, action);
    this.windows.addBusy(lane, action);
  }
}

function largestBatch(models: readonly ModelSpec[]): number {
  let largest = 1;
  for (const model of models) largest = Math.max(largest, model.batchSizes.at(-1) ?? 1);
  return largest;
}
