import { type Action, INFER, STATUS_OK } from '../../../core/action.js';
import type { RunObserver } from '../../../core/observer.js';
import {
  OUTCOME_CANCELLED,
  OUTCOME_LATE,
  OUTCOME_NAMES,
  OUTCOME_OK,
  OUTCOME_REJECTED,
  type Outcome,
  type RequestTable,
} from '../../../core/request.js';
import { LIMIT_NONE, LIMIT_RATE } from '../../../core/tenants.js';
import type { ResultMessage } from '../../messages.js';
import { execNsOf } from '../model-statistics.js';
import { LaneActivity } from './lane-activity.js';
import { SecondBins } from './second-bins.js';

/** Window of rates: this many complete seconds and the current one. */
export const WINDOW_SECONDS = 5;
export const HISTORY_SECONDS = 60;

/** Counted of all in each second: requests by the second of their arrival, once they are answered; answers. */
const OF_ALL = ['arrived', 'good', 'failed'] as const;
/** Counted of classes and tenants: also those refused for a limit, or by admission or policy; GPU time, ns. */
const OF_SENDERS = [...OF_ALL, 'overRate', 'overShare', 'refused', 'gpuNs'] as const;
/** Counted of models: also requests executed and how long they queued; requests of INFERs and the stages of these. Times in ns. */
const OF_MODELS = [...OF_ALL, 'started', 'queueNs', 'ran', 'copyInNs', 'execNs', 'copyOutNs'] as const;
const COUNTED = [...new Set([...OF_SENDERS, ...OF_MODELS])];
export type Counted = (typeof COUNTED)[number];
/** Sums of some seconds. */
export type Counts = Readonly<Record<Counted, number>>;
const AT = Object.fromEntries(COUNTED.map((counted, i) => [counted, i])) as Counts;

/** Recent answers of several senders or models. Adding allocates nothing. */
class Activity {
  private readonly bins: SecondBins;
  /** By quantity: its column; −1: it has none. */
  private readonly columns: Int8Array;

  constructor(
    readonly length: number,
    private readonly counted: readonly Counted[],
    seconds = WINDOW_SECONDS + 1,
  ) {
    this.bins = new SecondBins(counted.length * length, seconds);
    this.columns = Int8Array.from(COUNTED, (each) => counted.indexOf(each));
  }

  answered(
    of: number,
    { arrivalNs, limit }: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    action: Action | null,
  ): void {
    if (of >= this.length) return;
    this.add(of, AT.arrived, arrivalNs[slot], 1);
    this.add(of, outcome === OUTCOME_OK ? AT.good : AT.failed, nowNs, 1);
    if (outcome === OUTCOME_REJECTED) {
      const over = limit[slot] === LIMIT_RATE ? AT.overRate : AT.overShare;
      this.add(of, limit[slot] === LIMIT_NONE ? AT.refused : over, nowNs, 1);
    }
    if (action === null || (outcome !== OUTCOME_OK && outcome !== OUTCOME_LATE)) return;
    // The requests of a batch share its time evenly.
    this.add(of, AT.gpuNs, nowNs, (action.endNs - action.beginNs) / action.count);
    this.add(of, AT.started, nowNs, 1);
    this.add(of, AT.queueNs, nowNs, Math.max(0, action.beginNs - arrivalNs[slot]));
  }

  ran(of: number, action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>): void {
    const { count, endNs } = action;
    this.add(of, AT.ran, endNs, count);
    this.add(of, AT.copyInNs, endNs, result.copyInNs * count);
    this.add(of, AT.execNs, endNs, execNsOf(action, result) * count);
    this.add(of, AT.copyOutNs, endNs, result.copyOutNs * count);
  }

  /** From `fromSecond` to `toSecond`, inclusive. */
  sum(of: number, counted: Counted, fromSecond: number, toSecond: number): number {
    const column = this.columns[AT[counted]];
    return column < 0 ? 0 : this.bins.sum(of * this.counted.length + column, fromSecond, toSecond);
  }

  counts(of: number, fromSecond: number, toSecond: number): Counts {
    const sums = COUNTED.map((counted) => [counted, this.sum(of, counted, fromSecond, toSecond)]);
    return Object.fromEntries(sums);
  }

  private add(of: number, counted: number, atNs: number, amount: number): void {
    const column = this.columns[counted];
    if (column >= 0) this.bins.add(of * this.counted.length + column, atNs, amount);
  }
}

/** Collects the recent figures of a status. A request costs a few additions, and allocates nothing. */
export class StatusCollector implements RunObserver {
  /** Since the start, by outcome. */
  readonly totals = new Float64Array(OUTCOME_NAMES.length);
  readonly all = new Activity(1, OF_ALL, HISTORY_SECONDS + 1);
  readonly models: Activity;
  readonly classes: Activity;
  readonly tenants: Activity;
  readonly lanes: LaneActivity;

  /** `senders`: number of classes and tenants configured. */
  constructor(
    cluster: {
      readonly models: readonly unknown[];
      readonly spareModels?: number;
      readonly gpus: number;
      readonly spareGpus?: number;
      readonly oneLane?: boolean;
    },
    senders: { readonly classes: number; readonly tenants: number } = { classes: 0, tenants: 0 },
  ) {
    const { models, spareModels = 0, gpus, spareGpus = 0, oneLane = false } = cluster;
    this.models = new Activity(models.length + spareModels, OF_MODELS);
    this.classes = new Activity(senders.classes, OF_SENDERS);
    this.tenants = new Activity(senders.tenants, OF_SENDERS);
    this.lanes = new LaneActivity(gpus + spareGpus, oneLane, WINDOW_SECONDS + 1);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    this.totals[outcome]++;
    this.all.answered(0, requests, slot, outcome, nowNs, action);
    this.models.answered(requests.model[slot], requests, slot, outcome, nowNs, action);
    this.classes.answered(requests.requestClass[slot], requests, slot, outcome, nowNs, action);
    this.tenants.answered(requests.tenant[slot], requests, slot, outcome, nowNs, action);
  }

  cancelled(): void {
    this.totals[OUTCOME_CANCELLED]++;
  }

  completed(action: Action): void {
    this.lanes.completed(action);
  }

  /** Records an action decided by the core. */
  sent(action: Action): void {
    this.lanes.sent(action);
  }

  /** Records the result of an action; must be called before `completed`. */
  ran(action: Action, result: Pick<ResultMessage, 'copyInNs' | 'copyOutNs'>): void {
    const { kind, status, model } = action;
    if (kind === INFER && status === STATUS_OK) this.models.ran(model, action, result);
  }
}
