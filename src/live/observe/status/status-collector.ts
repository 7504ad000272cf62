import type { Action } from '../../../core/action.js';
import type { RunObserver } from '../../../core/observer.js';
import { OUTCOME_CANCELLED, type Outcome, type RequestTable } from '../../../core/request.js';
import type { ResultMessage } from '../../messages.js';
import { StageAverages } from '../telemetry/stage-averages.js';
import { LaneActivity } from './lane-activity.js';
import { RequestActivity } from './request-activity.js';
import { SenderActivity } from './sender-activity.js';

/** Window of rates: this many complete seconds and the current one. */
export const WINDOW_SECONDS = 5;
export const HISTORY_SECONDS = 60;

/** Collects the recent figures of a status. A request costs a few additions, and allocates nothing. */
export class StatusCollector implements RunObserver {
  readonly requests: RequestActivity;
  readonly lanes: LaneActivity;
  readonly classes: SenderActivity;
  readonly tenants: SenderActivity;
  readonly averages: StageAverages;

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
    const slots = models.length + spareModels;
    this.requests = new RequestActivity(slots, HISTORY_SECONDS + 1, WINDOW_SECONDS + 1);
    this.lanes = new LaneActivity(gpus + spareGpus, oneLane, WINDOW_SECONDS + 1);
    this.classes = new SenderActivity(senders.classes, WINDOW_SECONDS + 1);
    this.tenants = new SenderActivity(senders.tenants, WINDOW_SECONDS + 1);
    this.averages = new StageAverages(slots);
  }

  answered(
    requests: RequestTable,
    slot: number,
    outcome: Outcome,
    nowNs: number,
    _copies: number,
    action: Action | null,
  ): void {
    this.requests.answered(requests, slot, outcome, nowNs);
    const { classes, tenants } = this;
    if (classes.length > 0)
      classes.answered(requests, slot, requests.requestClass[slot], outcome, nowNs, action);
    if (tenants.length > 0) tenants.answered(requests, slot, requests.tenant[slot], outcome, nowNs, action);
    this.averages.answered(requests, slot, outcome, nowNs, action);
  }

  cancelled(): void {
    this.requests.totals[OUTCOME_CANCELLED]++;
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
    this.averages.ran(action, result);
  }
}
