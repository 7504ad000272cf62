import { type Action, INFER } from '../../../core/action.js';
import { bucketOf } from '../../../core/lengths.js';
import type { ModelSpec } from '../../../core/model.js';
import type { RunObserver } from '../../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  type Outcome,
  type RequestTable,
} from '../../../core/request.js';
import { CauseFinder } from '../../../record/causes.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../model-statistics.js';
import { LaneActivity } from './lane-activity.js';
import { SecondBins } from './second-bins.js';

/** Length of the window of a status, unless more was answered in it than is kept. */
export const WINDOW_SECONDS = 5;
export const HISTORY_SECONDS = 60;
/** Answers that are kept: a status reads all of them, in a few milliseconds. */
const MOST_ROWS = 8_192;

/** Columns of an answered request. Times in ns. */
export const ANSWER = {
  answeredNs: 0,
  arrivalNs: 1,
  outcome: 2,
  /** Index into `CAUSES`; −1: answered in time. */
  cause: 3,
  /** 1 if no GPU held its model on arrival. */
  isCold: 4,
  model: 5,
  class: 6,
  tenant: 7,
  /** Smallest length that fits its input; 0: its model does not take several. */
  length: 8,
  /** GPU of its last INFER; −1: none. */
  gpu: 9,
  /** Its part of the time and of the number of INFERs, here and below of the one that executed it; 0: none did. */
  gpuNs: 10,
  infers: 11,
  /** Time until it began, and its stages. */
  queueNs: 12,
  copyInNs: 13,
  execNs: 14,
  copyOutNs: 15,
} as const;
export const ANSWER_COLUMNS = 16;

/** Stages of an INFER. */
type Stages = Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>;
const UNKNOWN: Stages = { copyInNs: 0, copyOutNs: 0 };

/** Series of the last minute: requests by the second of their arrival, once they are answered; answers. */
export const HISTORY = { arrived: 0, good: 1, failed: 2 } as const;

/** Collects what a status tells of: a row of numbers for each of the latest answers. Adding one allocates nothing. */
export class StatusCollector implements RunObserver {
  /** Since the start, by outcome. */
  readonly totals = new Float64Array(OUTCOME_NAMES.length);
  readonly history = new SecondBins(3, HISTORY_SECONDS + 1);
  readonly answers = new RecentRows(ANSWER_COLUMNS, MOST_ROWS);
  readonly lanes: LaneActivity;
  private models: readonly ModelSpec[];
  causes: CauseFinder;
  /** Stages of the INFERs whose requests the next step answers. */
  private readonly stages = new Map<Action, Stages>();

  constructor(cluster: {
    readonly models: readonly ModelSpec[];
    readonly gpus: number;
    readonly spareGpus?: number;
    readonly oneLane?: boolean;
  }) {
    const { models, gpus, spareGpus = 0, oneLane = false } = cluster;
    this.lanes = new LaneActivity(gpus + spareGpus, oneLane, WINDOW_SECONDS + 1);
    this.models = models;
    this.causes = new CauseFinder(models);
  }

  /** Attaches the models of the running controller, which come and go. */
  watch(models: readonly ModelSpec[]): void {
    this.models = models;
    this.causes = new CauseFinder(models);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    copies: number,
    action: Action | null,
  ): void {
    this.totals[outcome]++;
    const arrivalNs = requests.arrivalNs[slot];
    this.history.add(HISTORY.arrived, arrivalNs, 1);
    this.history.add(outcome === OUTCOME_OK ? HISTORY.good : HISTORY.failed, nowNs, 1);
    const { values } = this.answers;
    const at = this.answers.add(nowNs);
    this.describe(requests, slot, values, at);
    const isExecuted = action !== null && (outcome === OUTCOME_OK || outcome === OUTCOME_LATE);
    values[at + ANSWER.outcome] = outcome;
    values[at + ANSWER.cause] = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    values[at + ANSWER.gpu] = action === null ? -1 : action.gpu;
    values.fill(0, at + ANSWER.gpuNs, at + ANSWER_COLUMNS);
    if (!isExecuted) return;
    // The requests of a batch share its time evenly.
    values[at + ANSWER.gpuNs] = (action.endNs - action.beginNs) / action.count;
    values[at + ANSWER.infers] = 1 / action.count;
    values[at + ANSWER.queueNs] = Math.max(0, action.beginNs - arrivalNs);
    const stages = this.stages.get(action) ?? UNKNOWN;
    values[at + ANSWER.copyInNs] = stages.copyInNs;
    values[at + ANSWER.execNs] = execNsOf(action, stages);
    values[at + ANSWER.copyOutNs] = stages.copyOutNs;
  }

  /** Writes what is known of a request before its answer into columns of `ANSWER`. */
  describe(requests: RequestTable, slot: number, values: Float64Array, at: number): void {
    const model = requests.model[slot];
    const { lengths } = this.models[model];
    values[at + ANSWER.arrivalNs] = requests.arrivalNs[slot];
    values[at + ANSWER.isCold] = requests.arrivalCopies[slot] === 0 ? 1 : 0;
    values[at + ANSWER.model] = model;
    values[at + ANSWER.class] = requests.requestClass[slot];
    values[at + ANSWER.tenant] = requests.tenant[slot];
    values[at + ANSWER.length] =
      lengths === undefined ? 0 : lengths[bucketOf(this.models[model], requests.length[slot])];
    values[at + ANSWER.gpu] = -1;
  }

  cancelled(): void {
    this.totals[OUTCOME_CANCELLED]++;
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    this.causes.completed(action, nowNs, copies);
    this.lanes.completed(action);
  }

  /** Records an action decided by the core. */
  sent(action: Action): void {
    this.lanes.sent(action);
  }

  /** Records the result of an action: the step that follows answers its requests. */
  ran(action: Action, result: Stages): void {
    if (action.kind === INFER) this.stages.set(action, result);
  }

  stepped(): void {
    this.stages.clear();
  }
}

/** The latest rows of numbers, in fixed memory. Adding allocates nothing. */
export class RecentRows {
  readonly values: Float64Array;
  private added = 0;

  constructor(
    private readonly columns: number,
    private readonly capacity: number,
  ) {
    this.values = new Float64Array(columns * capacity);
  }

  /** Adds a row whose first column is a time. Returns the index of that; the other columns hold an older row. */
  add(atNs: number): number {
    const at = this.placeOf(this.added++);
    this.values[at] = atNs;
    return at;
  }

  /** Time since which no row was lost. */
  get sinceNs(): number {
    return this.added <= this.capacity ? Number.NEGATIVE_INFINITY : this.values[this.placeOf(this.added)];
  }

  /** Calls `visit` with the index of each row since `fromNs`. */
  each(fromNs: number, visit: (at: number) => void): void {
    for (let row = Math.max(0, this.added - this.capacity); row < this.added; row++) {
      const at = this.placeOf(row);
      if (this.values[at] >= fromNs) visit(at);
    }
  }

  private placeOf(row: number): number {
    return (row % this.capacity) * this.columns;
  }
}
