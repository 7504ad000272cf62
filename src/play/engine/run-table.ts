import { invariant } from '../../base/invariant.js';
import type { Action } from '../../core/action.js';
import type { ModelSpec } from '../../core/model.js';
import type { RunObserver } from '../../core/observer.js';
import type { RequestTable } from '../../core/request.js';
import type { Worker } from '../../core/worker.js';
import { CauseFinder } from '../../record/causes.js';
import { RowList } from '../../record/row-list.js';
import { ACTION, ACTION_COLUMNS, answeredRow, plannedRow, REQUEST_COLUMNS } from '../../record/run-rows.js';

/** Keeps every action and every answered request of a run as rows: for frames, and for the stories of requests. */
export class RunTable implements RunObserver {
  /** The action with id i is row i. */
  readonly actions = new RowList(ACTION_COLUMNS);
  /** In order of answers. */
  readonly requests = new RowList(REQUEST_COLUMNS);
  private readonly changed = new Set<number>();
  private framedRequests = 0;
  private readonly causes: CauseFinder;
  private waiting: RequestTable | null = null;

  constructor(models: readonly ModelSpec[]) {
    this.causes = new CauseFinder(models);
  }

  /** Attaches the controller's requests: their deadlines are read when they are planned. */
  watch(requests: RequestTable): void {
    this.waiting = requests;
  }

  decided(action: Action): void {
    invariant(action.id === this.actions.count, 'actions are decided in the order of their ids');
    this.actions.push(plannedRow(action, this.waiting));
    this.changed.add(action.id);
  }

  completed(action: Action, nowNs: number, _queued: number, copies: number): void {
    const { id, beginNs, endNs, status } = action;
    this.causes.completed(action, nowNs, copies);
    this.actions.set(id, ACTION.beginNs, beginNs);
    this.actions.set(id, ACTION.endNs, endNs);
    this.actions.set(id, ACTION.handledNs, nowNs);
    this.actions.set(id, ACTION.status, status);
    this.changed.add(id);
  }

  readonly answered: RunObserver['answered'] = (requests, slot, outcome, nowNs, copies, action) => {
    const cause = this.causes.indexOf(requests, slot, outcome, nowNs, copies);
    this.requests.push(answeredRow(requests, slot, { outcome, nowNs, action, cause }));
  };

  /** Rows of actions that changed since the last call; those running on `workers` have begun. */
  takeActions(workers: readonly Worker[]): Float64Array<ArrayBuffer> {
    for (const { running } of workers) {
      for (const { id, beginNs } of running) {
        if (!Number.isNaN(this.actions.get(id, ACTION.beginNs))) continue;
        this.actions.set(id, ACTION.beginNs, beginNs);
        this.changed.add(id);
      }
    }
    const rows = this.actions.pick(this.changed, this.changed.size);
    this.changed.clear();
    return rows;
  }

  /** Rows of requests answered since the last call. */
  takeRequests(): Float64Array<ArrayBuffer> {
    const rows = this.requests.from(this.framedRequests);
    this.framedRequests = this.requests.count;
    return rows;
  }
}
