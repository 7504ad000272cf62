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
import type { ModelSpec } from '../core/model.js';
import type { RunObserver } from '../core/observer.js';
import type { Outcome, RequestTable } from '../core/request.js';
import { OUTCOME_LATE, OUTCOME_NAMES, OUTCOME_OK } from '../core/request.js';
import { TimeBins } from './bins.js';
import { CauseFinder } from './cause-finder.js';
import { CAUSES } from './causes.js';
import { countedNs } from './counted.js';
import { Histogram } from './histogram.js';
import { LengthTally } from './length-tally.js';
import type { TunedSeries } from './results.js';
import { TunedTally, type Tuning } from './tuned.js';

export interface RunTallyOptions {
  readonly gpus: number;
  /** Nominal end of the workload, ns since the start of the run; after `warmupNs`. */
  readonly durationNs: number;
  /** Requests that arrive and actions that are sent earlier are not counted. */
  readonly warmupNs: number;
  readonly models: readonly ModelSpec[];
  /** Names of the workload's sections, at least one. */
  readonly sections: readonly string[];
  /** First user id of each section, ascending from 0: section i has users [starts[i], starts[i + 1]). */
  readonly sectionStarts: readonly number[];
  /** False if the observer, e.g. a client, cannot see why requests failed. Default: true. */
  readonly seesCauses?: boolean;
}

const OUTCOMES = OUTCOME_NAMES.length;

/**
 * Counts everything for the summary, time series and groups of a run, in memory that depends neither on the length of
 * the run nor on its number of requests. A request is counted once, at its answer; a driver answers every request
 * before it ends, so offered is the sum of outcomes.
 *
 * The members are counters to read after the run; `summary.ts` turns them into results.
 */
export class RunTally implements RunObserver {
  readonly gpus: number;
  readonly warmupNs: number;
  readonly durationNs: number;
  readonly sections: readonly string[];
  readonly models: readonly ModelSpec[];
  /** Null if the observer cannot see why requests failed. */
  readonly causes: CauseFinder | null;
  /** Answers by section and outcome: element `section * 5 + outcome`. */
  readonly outcomes: Float64Array;
  /** Requests by model: all, and those answered within their SLO. */
  readonly offeredByModel: Float64Array;
  readonly okByModel: Float64Array;
  /** Requests by model that arrived while no GPU held it. */
  readonly coldByModel: Float64Array;
  /** Failed requests by model and cause: element `model * CAUSES.length + cause`. */
  readonly failuresByModel: Float64Array;
  /** Time from arrival to answer, one histogram per section: of requests answered in time, and of late ones. */
  readonly okLatency: readonly Histogram[];
  readonly lateLatency: readonly Histogram[];
  /** SLO of each section's requests, ns; 0: none came, NaN: they differ. */
  private readonly slosNs: Float64Array;
  coldStarts = 0;
  /** Requests withdrawn by their clients; these are not offered. */
  cancels = 0;

  /** By the smallest length that fits the input; null if no model takes several lengths. */
  readonly byLength: LengthTally | null;

  readonly bins: TimeBins;
  /** By section and time of arrival: requests, and those answered within their SLO. */
  readonly offeredByBin: readonly Float64Array[];
  readonly okByArrival: readonly Float64Array[];
  /** By time of arrival. */
  readonly coldByBin: Float64Array;
  /** By time of answer, regardless of arrival. */
  readonly okByBin: Float64Array;
  readonly failedByBin: Float64Array;

  /** Actions by kind, regardless of result. */
  readonly actions = new Float64Array(ACTION_NAMES.length);
  /** Actions that missed their window. */
  tooLate = 0;
  /** Successful INFERs by batch size. */
  readonly inferByBatch: Float64Array;
  /** Busy time of each lane between warm-up and nominal end, summed over GPUs. */
  readonly busyNs = new Float64Array(2);

  /** Values that the policy tunes. */
  private tuned: TunedTally | null = null;
  private readonly sectionStarts: Float64Array;

  constructor(options: RunTallyOptions) {
    const { gpus, durationNs, warmupNs, models, sections, sectionStarts } = options;
    invariant(durationNs > warmupNs, 'a run ends after its warm-up');
    invariant(
      sections.length > 0 && sections.length === sectionStarts.length,
      'each section has its first user',
    );
    this.gpus = gpus;
    this.warmupNs = warmupNs;
    this.durationNs = durationNs;
    this.sections = sections;
    this.models = models;
    this.causes = options.seesCauses === false ? null : new CauseFinder(models);
    this.sectionStarts = Float64Array.from(sectionStarts);
    this.outcomes = new Float64Array(sections.length * OUTCOMES);
    this.offeredByModel = new Float64Array(models.length);
    this.okByModel = new Float64Array(models.length);
    this.coldByModel = new Float64Array(models.length);
    this.failuresByModel = new Float64Array(models.length * CAUSES.length);
    this.slosNs = new Float64Array(sections.length);
    this.okLatency = sections.map(() => new Histogram());
    this.lateLatency = sections.map(() => new Histogram());
    this.byLength = LengthTally.of(models);
    this.bins = new TimeBins(warmupNs, durationNs);
    this.offeredByBin = sections.map(() => this.bins.counter());
    this.okByArrival = sections.map(() => this.bins.counter());
    this.coldByBin = this.bins.counter();
    this.okByBin = this.bins.counter();
    this.failedByBin = this.bins.counter();
    this.inferByBatch = new Float64Array(1 + largestBatch(models));
  }

  /** Starts following the tuned values, sampling at every result. */
  watch(tuning: Tuning): void {
    const tuned = new TunedTally(tuning, this.bins);
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

  answered(requests: RequestTable, slot: number, outcome: Outcome, nowNs: number, copies: number): void {
    if (nowNs >= this.warmupNs) {
      // Includes requests of the warm-up: rates over time would otherwise start with a gap.
      const answers = outcome === OUTCOME_OK ? this.okByBin : this.failedByBin;
      answers[this.bins.indexOf(nowNs)]++;
    }
    const arrivalNs = requests.arrivalNs[slot];
    if (arrivalNs < this.warmupNs) return;
    const section = this.sectionOf(requests.user[slot]);
    this.outcomes[section * OUTCOMES + outcome]++;
    const sloNs = requests.sloNs[slot];
    if (sloNs !== this.slosNs[section])
      this.slosNs[section] = this.slosNs[section] === 0 ? sloNs : Number.NaN;
    const model = requests.model[slot];
    const arrivalBin = this.bins.indexOf(arrivalNs);
    this.offeredByModel[model]++;
    this.offeredByBin[section][arrivalBin]++;
    this.byLength?.answered(requests, slot, outcome, nowNs);
    if (outcome === OUTCOME_OK) {
      this.okByModel[model]++;
      this.okByArrival[section][arrivalBin]++;
      this.okLatency[section].record(nowNs - arrivalNs);
    } else {
      if (this.causes !== null) {
        const cause = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
        this.failuresByModel[model * CAUSES.length + cause]++;
      }
      if (outcome === OUTCOME_LATE) this.lateLatency[section].record(nowNs - arrivalNs);
    }
    if (requests.arrivalCopies[slot] === 0) {
      this.coldStarts++;
      this.coldByModel[model]++;
      this.coldByBin[arrivalBin]++;
    }
  }

  cancelled({ arrivalNs }: RequestTable, slot: number): void {
    if (arrivalNs[slot] >= this.warmupNs) this.cancels++;
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
    if (status === STATUS_OK) {
      if (kind === INFER) this.inferByBatch[action.batchSize]++;
    } else if (status === STATUS_INFER_TOO_LATE || status === STATUS_LOAD_TOO_LATE) {
      this.tooLate++;
    }
  }

  /** Adds the time of an action to its lane, even if the result is an error; one that never started has length 0. */
  private addBusy(lane: number, action: Action): void {
    this.busyNs[lane] += countedNs(this, action);
  }

  /** Sections are few: scanning from the last is as fast as a search. */
  private sectionOf(user: number): number {
    let section = this.sectionStarts.length - 1;
    while (section > 0 && user < this.sectionStarts[section]) section--;
    return section;
  }
}

function largestBatch(models: readonly ModelSpec[]): number {
  let largest = 1;
  for (const model of models) largest = Math.max(largest, model.batchSizes.at(-1) ?? 1);
  return largest;
}
