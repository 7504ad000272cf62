import type { Action } from '../../core/action.js';
import type { Outcome, RequestTable } from '../../core/request.js';
import type { RecordingMode } from './recording-control.js';
import { Rows } from './rows.js';

/** Limit of a minute at about 3,000 requests/s; at most 64 MB, and about as much again if all have traces. */
const MOST_ROWS = 500_000;

/** Columns of `steps`. */
export const STEP = { begin: 0, took: 1, arrived: 2, answered: 3, results: 4, sent: 5 } as const;

/** Columns of `actions`. `step` is the row of the decision that it came from; −1: not recorded. */
export const ACTION = {
  id: 0,
  kind: 1,
  gpu: 2,
  model: 3,
  batch: 4,
  count: 5,
  status: 6,
  step: 7,
  sent: 8,
  earliest: 9,
  latest: 10,
  expected: 11,
  begin: 12,
  end: 13,
  copyIn: 14,
  copyOut: 15,
} as const;

/** Columns of `requests`. `action` is −1 if none served it. */
export const REQUEST = {
  id: 0,
  model: 1,
  arrival: 2,
  slo: 3,
  outcome: 4,
  answered: 5,
  action: 6,
  copies: 7,
} as const;

const widthOf = (columns: Readonly<Record<string, number>>) => Object.keys(columns).length;

/** Events of a recorded server, as tables. All times are the controller's, ns. */
export class Recording {
  readonly steps = new Rows(widthOf(STEP));
  readonly actions = new Rows(widthOf(ACTION));
  readonly requests = new Rows(widthOf(REQUEST));
  /** Traces by request. */
  readonly traces = new Map<number, string>();
  /** Number of rows beyond the limit. */
  dropped = 0;

  constructor(
    readonly mode: RecordingMode,
    readonly fromNs: number,
    private readonly mostRows = MOST_ROWS,
  ) {}

  addStep(beginNs: number, tookNs: number, counts: StepCounts): void {
    if (!this.hasRoom()) return;
    const { steps } = this;
    const at = steps.add();
    const { block } = steps;
    block[at + STEP.begin] = beginNs;
    block[at + STEP.took] = tookNs;
    block[at + STEP.arrived] = counts.arrived;
    block[at + STEP.answered] = counts.answered;
    block[at + STEP.results] = counts.results;
    block[at + STEP.sent] = counts.sent;
  }

  /** `ran`: the worker's times, since the core counts zero durations as a microsecond. */
  addAction(action: Action, step: number, ran: RanTimes): void {
    if (!this.hasRoom()) return;
    const { actions } = this;
    const at = actions.add();
    const { block } = actions;
    block[at + ACTION.id] = action.id;
    block[at + ACTION.kind] = action.kind;
    block[at + ACTION.gpu] = action.gpu;
    block[at + ACTION.model] = action.model;
    block[at + ACTION.batch] = action.batchSize;
    block[at + ACTION.count] = action.count;
    block[at + ACTION.status] = action.status;
    block[at + ACTION.step] = step;
    block[at + ACTION.sent] = action.sentNs;
    block[at + ACTION.earliest] = action.earliestNs;
    block[at + ACTION.latest] = action.latestNs;
    block[at + ACTION.expected] = action.expectedDurationNs;
    block[at + ACTION.begin] = ran.beginNs;
    block[at + ACTION.end] = ran.endNs;
    block[at + ACTION.copyIn] = ran.copyInNs;
    block[at + ACTION.copyOut] = ran.copyOutNs;
  }

  addRequest(table: RequestTable, slot: number, outcome: Outcome, nowNs: number, action: number): void {
    if (!this.hasRoom()) return;
    const { requests } = this;
    const at = requests.add();
    const { block } = requests;
    block[at + REQUEST.id] = table.id[slot];
    block[at + REQUEST.model] = table.model[slot];
    block[at + REQUEST.arrival] = table.arrivalNs[slot];
    block[at + REQUEST.slo] = table.sloNs[slot];
    block[at + REQUEST.outcome] = outcome;
    block[at + REQUEST.answered] = nowNs;
    block[at + REQUEST.action] = action;
    block[at + REQUEST.copies] = table.arrivalCopies[slot];
  }

  /** Trace of a request whose row comes later. */
  addTrace(request: number, traceparent: string): void {
    if (this.traces.size < this.mostRows) this.traces.set(request, traceparent);
  }

  private hasRoom(): boolean {
    const hasRoom = this.steps.count + this.actions.count + this.requests.count < this.mostRows;
    if (!hasRoom) this.dropped++;
    return hasRoom;
  }
}

/** Numbers of inputs and outputs of one step. */
interface StepCounts {
  readonly arrived: number;
  readonly answered: number;
  readonly results: number;
  readonly sent: number;
}

/** Times of an action, as measured by the worker. */
export interface RanTimes {
  readonly beginNs: number;
  readonly endNs: number;
  readonly copyInNs: number;
  readonly copyOutNs: number;
}
